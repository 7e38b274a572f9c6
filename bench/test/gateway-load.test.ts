import { testProgram } from "@svc/dev-services";
import { expect } from "chai";
import { gatewayLoad } from "../gateway-load/bench.ts";
import { readLog } from "../gateway-load/h2load.ts";
import type { Reading } from "../gateway-load/load.ts";
import { measure } from "../gateway-load/measure.ts";
import { startNode } from "../gateway-load/node-process.ts";
import { CONTROL, proxies, type Proxy } from "../gateway-load/proxies.ts";
import { tablesOf } from "../gateway-load/report.ts";
import { readWrk } from "../gateway-load/wrk.ts";
import type { BenchOptions } from "../harness/bench.ts";

const wrkOutput = `Running 2s test @ http://127.0.0.1:8123/
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     3.10ms    8.92ms 105.28ms   96.28%
  Latency Distribution
     50%    1.20ms
     99%   850.00us
  33429 requests in 2.00s, 3.95MB read
Requests/sec:  33377.03
Transfer/sec:      3.95MB
`;

describe("the load generators of the benchmark gateway-load", () => {
  it("return requests per second and p99 from the output of wrk, in each of its units", () => {
    expect(readWrk(wrkOutput)).to.deep.equal({ requestsPerSecond: 33_377.03, p99Ms: 0.85 });
    expect(readWrk(wrkOutput.replace("850.00us", "1.25s")).p99Ms).to.equal(1250);
    expect(readWrk(wrkOutput.replace("850.00us", "56.78ms")).p99Ms).to.equal(56.78);
  });

  it("reject a run of wrk with failed requests", () => {
    for (const failure of [
      "  Socket errors: connect 0, read 5, write 0, timeout 0\n",
      "  Non-2xx or 3xx responses: 3\n",
    ])
      expect(() => readWrk(wrkOutput + failure)).to.throw(`wrk: ${failure.trim()}`);
  });

  it("return requests per second and p99 from the log of h2load, and reject a failed request", () => {
    const line = (status: number, micros: number): string => `1795857307291964\t${status}\t${micros}\n`;
    const log = Array.from({ length: 200 }, (_, at) => line(200, (at + 1) * 10)).toReversed();
    expect(readLog(log.join(""), 2)).to.deep.equal({ requestsPerSecond: 100, p99Ms: 1.98 });
    expect(() => readLog(line(200, 1) + line(-1, 1), 2)).to.throw("h2load: 1 of 2 requests failed");
  });
});

describe("the benchmark gateway-load", () => {
  it("rejects an unknown case, and lists the known cases", async () => {
    const options = { only: ["nothing"] } as unknown as BenchOptions;
    const message = await gatewayLoad.run(options).then(String, (error: Error) => error.message);
    const names = proxies.map(({ name }) => name);
    expect(message).to.equal(`there is no case nothing; there are ${names.join(", ")}`);
  });

  it("measures the proxies in turn with each load generator, in reverse order in the second round", async () => {
    const runs: string[] = [];
    const targets = ["a", "b"].map((name) => ({ name, url: name }));
    const loads = ["one", "two"].map((name) => ({
      name,
      async run(url: string, seconds: number): Promise<Reading> {
        runs.push(`${name} ${url} ${seconds}`);
        return { requestsPerSecond: runs.length, p99Ms: 1 };
      },
    }));
    const readings = await measure(targets, loads, { rounds: 2, seconds: 3 }, () => undefined);
    const inTurn = ["one a 3", "one b 3", "two a 3", "two b 3"];
    expect(runs).to.deep.equal([...inTurn, "one b 3", "one a 3", "two b 3", "two a 3"]);
    expect(
      readings
        .get("one")
        ?.get("a")
        ?.map(({ requestsPerSecond }) => requestsPerSecond),
    ).to.deep.equal([1, 6]);
  });

  it("prints medians, the median ratio to http-proxy-middleware, and the reason why a program did not run", () => {
    const rates = (...all: readonly number[]): Reading[] =>
      all.map((requestsPerSecond) => ({ requestsPerSecond, p99Ms: requestsPerSecond / 1000 }));
    const cases = new Map([
      ["http-proxy-middleware", rates(900, 1000, 5000)],
      ["svc", rates(1500, 2000, 2500)],
    ]);
    expect(
      tablesOf(new Map([["wrk", cases]]), new Map([["haproxy", "no HAProxy; install haproxy"]])),
    ).to.deep.equal([
      "wrk                    requests/s         range  p99 ms  ratio",
      "http-proxy-middleware        1000   900 to 5000    1.00   1.00",
      "svc                          2000  1500 to 2500    2.00   1.67",
      "",
      "haproxy: skipped, no HAProxy; install haproxy",
    ]);
  });
});

/** Defines a test that a proxy returns the response of the server. */
function passesOn({ name, start }: Proxy): void {
  it(`${name} returns the response of the server, even for several requests on a connection`, async () => {
    await using upstream = await startNode("./upstream-process.ts");
    await using proxy = await start(upstream.url);
    const texts = await Promise.all(
      Array.from({ length: 10 }, async () => (await fetch(`${proxy.url}/api/items/10`)).text()),
    );
    expect(new Set(texts)).to.deep.equal(new Set(['{"id":"10","name":"item 10"}']));
  });
}

describe("the proxies of the benchmark gateway-load", () => {
  for (const proxy of proxies) if (proxy.program === undefined && proxy.name !== CONTROL) passesOn(proxy);
});

describe("the proxy nginx of the benchmark gateway-load", () => {
  testProgram("nginx");
  for (const proxy of proxies) if (proxy.program === "nginx") passesOn(proxy);
});
