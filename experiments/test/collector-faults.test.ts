import { expect } from "chai";
import { responseFault } from "../collector-faults/load.ts";
import { limitsOf, stateIn } from "../collector-faults/rules.ts";
import { merged, type Row, tableOf } from "../collector-faults/table.ts";
import { traceHeaderNames, traceHeaders } from "../collector-faults/trace-headers.ts";
import { createRandom } from "../fuzz/random.ts";

describe("limitsOf()", () => {
  it("permits 105 % of the mean p50, and the higher p99 plus the difference between both p99", () => {
    expect(limitsOf({ p50: 1, p99: 4 }, { p50: 3, p99: 10 })).to.deep.equal({ p50: 2.1, p99: 16 });
  });

  it("permits a quarter more than p99 if both p99 are equal", () => {
    expect(limitsOf({ p50: 1, p99: 8 }, { p50: 1, p99: 8 }).p99).to.equal(10);
  });
});

describe("stateIn()", () => {
  const endpoint = "http://127.0.0.1:4318/v1/traces";

  it("returns `failing` or `exporting` for the details of an exporting service, and other details unchanged", () => {
    expect(stateIn("span export failing; spans are being dropped", endpoint)).to.equal("failing");
    expect(stateIn(`exporting to ${endpoint}: 512 span(s) exported, 0 batch(es) failed`, endpoint)).to.equal(
      "exporting",
    );
    for (const text of [`exporting to ${endpoint}`, "exporting to http://x/v1/traces: 1 span(s) exported"])
      expect(stateIn(text, endpoint)).to.equal(text);
  });
});

describe("responseFault()", () => {
  const random = createRandom(1);
  const response = (body: object): Parameters<typeof responseFault>[0] => ({
    status: 200,
    body: JSON.stringify(body),
    error: undefined,
  });

  it("returns undefined for a response that has the request's body and a new trace", () => {
    expect(responseFault(response({ n: "1", trace: "a", state: null }), "1", undefined)).to.equal(undefined);
  });

  it("reports another status, an incomplete response, the body of another request, and a missing span", () => {
    const body = { n: "1", trace: "a", state: null };
    expect(responseFault({ ...response(body), status: 504 }, "1", undefined)).to.equal("status 504");
    expect(responseFault({ ...response(body), status: 0, error: "cut off" }, "1", undefined)).to.equal(
      "cut off",
    );
    expect(responseFault(response(body), "2", undefined)).to.contain("another request");
    expect(responseFault({ ...response(body), body: "{" }, "1", undefined)).to.contain("another request");
    expect(responseFault(response({ n: "1", state: null }), "1", undefined)).to.equal("no span");
  });

  for (const name of traceHeaderNames) {
    it(`reports a span with another trace or tracestate for ${name}`, () => {
      const headers = traceHeaders(name, random);
      const { sent, isContinued, state } = headers;
      const fault = (trace: string, found: string | null): string | undefined =>
        responseFault(response({ n: "1", trace, state: found }), "1", headers);
      expect(fault(isContinued ? sent : "a", state)).to.equal(undefined);
      expect(fault(isContinued ? "a" : sent, state)).to.contain("continued");
      expect(fault(isContinued ? sent : "a", `${state},c=3`)).to.contain("tracestate");
    });
  }
});

describe("the table of collector-faults", () => {
  const row: Row = {
    fault: "hangs",
    rounds: 1,
    requests: 100,
    latency: { p50: 1, p99: 5 },
    exported: 60,
    dropped: 40,
    failedBatches: 1,
    states: ["exporting", "failing"],
    isHeld: true,
  };

  it("sums the rounds of a fault, and shows the highest latencies", () => {
    const other: Row = { ...row, latency: { p50: 2, p99: 4 }, states: ["failing"], isHeld: false };
    expect(merged([row, other])).to.deep.equal([
      {
        ...row,
        rounds: 2,
        requests: 200,
        latency: { p50: 2, p99: 5 },
        exported: 120,
        dropped: 80,
        failedBatches: 2,
        isHeld: false,
      },
    ]);
  });

  it("has a line for each fault, and dashes for unknown results", () => {
    const unknown = { latency: undefined, exported: undefined, dropped: undefined, failedBatches: undefined };
    const [head, ...lines] = tableOf([row, { ...row, ...unknown, fault: "exit", states: [] }]);
    expect(head).to.match(/^fault +rounds +requests .*verdict$/);
    expect(lines.map((line) => line.split(/ {2,}/))).to.deep.equal([
      ["hangs", "1", "100", "1.00 ms", "5.00 ms", "60", "40", "1", "exporting, failing", "held"],
      ["exit", "1", "100", "-", "-", "-", "-", "-", "-", "held"],
    ]);
  });
});
