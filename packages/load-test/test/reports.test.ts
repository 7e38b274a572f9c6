import { htmlReport, textReport } from "@svc/load-test";
import { expect } from "chai";
import { liveLine } from "../src/live-line.ts";
import { loadReport, stepReport } from "./support/reports.ts";

const noErrors = stepReport().errors;
const full = loadReport({
  routes: ["GET /items", "GET /items/{id}"],
  skipped: [{ route: "GET /x/{id}", reason: "path parameter id has no example, default or enum" }],
  steps: [
    stepReport({ clients: 1, requestsPerSecond: 1999.7 }),
    stepReport({
      clients: 16,
      requests: 1000,
      requestsPerSecond: 8.26,
      statuses: { 200: 900, 404: 20, 429: 30, 503: 40 },
      successes: 900,
      others: 90,
      errors: { ...noErrors, serverErrors: 40, tooManyRequests: 30, timeout: 10 },
      errorRate: 8,
      generatorCpu: 80.4,
      readiness: { failure: null, notOk: [{ name: "cache", detail: "away", isCritical: false }] },
      broken: ["8.00 % of errors is over 1 %"],
    }),
  ],
  brokeAt: 16,
  saturatedAt: 1,
});

describe("the report as text", () => {
  it("has a table, notes per step, the break and the saturation", () => {
    expect(textReport(full)).to.equal(`http://localhost:8000: 2 routes, 10 s per step, closed loop
skipped GET /x/{id}: path parameter id has no example, default or enum

clients  requests/s      p50      p95      p99     max     2xx  other  errors   CPU  verdict
      1       2,000  0.48 ms  1.50 ms  12.3 ms  812 ms  20,000      0       0  31 %  ok
     16         8.3  0.48 ms  1.50 ms  12.3 ms  812 ms     900     90      80  80 %  BROKEN

16 clients: broken: 8.00 % of errors is over 1 %
16 clients: errors: 40 5xx, 30 429, 10 timed out
16 clients: responses: 20 with 404, 30 with 429, 40 with 503
16 clients: the generator is the limit (80 % of a CPU)
16 clients: not ready: cache: away

break: at 16 clients
saturation: at 1 client, after which more clients add less than 10 % throughput
`);
  });

  it("states that the generator is the limit at 80 % of a CPU or more", () => {
    const textOf = (generatorCpu: number) =>
      textReport(loadReport({ steps: [stepReport({ generatorCpu })] }));
    expect(textOf(79.9)).not.to.include("the generator is the limit");
    expect(textOf(80)).to.include("4 clients: the generator is the limit (80 % of a CPU)");
  });

  it("reports the rate and the unsent requests of an open loop, and no saturation", () => {
    const open = loadReport({ loop: "open", rate: 500, steps: [stepReport({ unsent: 1200 })] });
    const printed = textReport(open);
    expect(printed).to.match(/^\S+: 1 route, 10 s per step, open loop, 500 requests\/s due\n/);
    expect(printed).to.include("4 clients: 1,200 requests were due but not sent: all clients were waiting\n");
    expect(printed).to.include("saturation: not judged, because the rate is fixed\n");
  });

  it("states why there was no description, and why there are no checks", () => {
    const readiness = { failure: "GET /ready answered 404 without checks", notOk: [] };
    const printed = textReport(
      loadReport({
        withoutDescription: "GET /openapi.json answered 404",
        steps: [stepReport({ readiness })],
      }),
    );
    expect(printed).to.include(
      "1 route without a description (GET /openapi.json answered 404), 10 s per step",
    );
    expect(printed).to.include("4 clients: GET /ready answered 404 without checks\n");
    expect(printed).to.include("saturation: not reached, because there is only one step\n");
  });
});

describe("the report as HTML", () => {
  it("has two charts with title and description, and a table with each kind of error", () => {
    const page = htmlReport(full);
    expect(page.match(/<svg [^>]*role="img" aria-labelledby="\w+-title \w+-desc"/g)).to.have.length(2);
    expect(page).to.include(
      '<desc id="throughput-desc">1 client: 2,000 requests/s; 16 clients: 8.3 requests/s</desc>',
    );
    expect(page).to.include('<th scope="row">16</th>');
    for (const head of ["5xx", "429", "no connection", "connection lost", "timed out", "invalid response"])
      expect(page).to.include(`<th scope="col">${head}</th>`);
  });

  it("loads nothing and has no script", () => {
    const page = htmlReport(full);
    expect(page).to.include("default-src 'none'");
    expect(page).not.to.match(/<script|<link|<img|src=|@import|url\(/);
  });

  it("escapes text from the service and the command line", () => {
    const page = htmlReport(
      loadReport({
        url: "http://host/<b>",
        routes: ["GET /<script>alert(1)</script>"],
        skipped: [{ route: 'GET /"', reason: "<i>" }],
        steps: [
          stepReport({
            readiness: { failure: null, notOk: [{ name: "<u>", detail: "&", isCritical: true }] },
          }),
        ],
      }),
    );
    expect(page).not.to.match(/<script>|<i>|<u>|<b>/);
    expect(page).to.include("&lt;u&gt; (critical): &amp;");
  });

  it("draws a run with one step, a step without responses, and a run without steps", () => {
    const none = { p50: 0, p95: 0, p99: 0, max: 0 };
    for (const steps of [
      [stepReport()],
      [stepReport({ requests: 0, requestsPerSecond: 0, latencyUs: none })],
      [stepReport({ requestsPerSecond: 0, latencyUs: none }), stepReport()],
      [],
    ])
      expect(htmlReport(loadReport({ steps }))).not.to.match(/NaN|Infinity|undefined/);
  });
});

describe("the live line", () => {
  const linesOf = (isTTY: boolean): string[] => {
    const written: string[] = [];
    const line = liveLine({ isTTY, write: (each) => written.push(each) });
    line.show({ clients: 1, seconds: -0.5, requestsPerSecond: 0 });
    line.show({ clients: 16, seconds: 3.04, requestsPerSecond: 12_345.6 });
    line.clear();
    return written;
  };

  it("shows the warm-up, then seconds and requests per second, on a terminal", () => {
    expect(linesOf(true)).to.deep.equal([
      "\r\u001b[K1 client: warm-up",
      "\r\u001b[K16 clients: 3 s, 12,346 requests/s",
      "\r\u001b[K",
    ]);
  });

  it("writes nothing to a stream that is not a terminal", () => {
    expect(linesOf(false)).to.deep.equal([]);
  });
});
