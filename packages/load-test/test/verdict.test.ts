import { expect } from "chai";
import { breakOf, reasonsOf, saturationOf } from "../src/verdict.ts";
import { stepReport } from "./support/reports.ts";

const limits = { maxP99Ms: 500, maxErrorRate: 1 };

describe("the verdict of a step", () => {
  it("LOAD-3 has a reason if the p99 is over the limit, and none at the limit", () => {
    const latency = (p99: number) => stepReport({ latencyUs: { p50: 1, p95: 1, p99, max: p99 } });
    expect(reasonsOf(latency(500_000), limits)).to.deep.equal([]);
    expect(reasonsOf(latency(500_100), limits)).to.deep.equal(["p99 of 500.1 ms is over 500 ms"]);
    expect(reasonsOf(latency(500_100), { ...limits, maxP99Ms: 600 })).to.deep.equal([]);
  });

  it("LOAD-3 has a reason if the share of errors is over the limit, and none at the limit", () => {
    expect(reasonsOf(stepReport({ errorRate: 1 }), limits)).to.deep.equal([]);
    expect(reasonsOf(stepReport({ errorRate: 1.25 }), limits)).to.deep.equal([
      "1.25 % of errors is over 1 %",
    ]);
    expect(reasonsOf(stepReport({ errorRate: 1.25 }), { ...limits, maxErrorRate: 2 })).to.deep.equal([]);
  });

  it("LOAD-3 has a reason if no request ended", () => {
    expect(reasonsOf(stepReport({ requests: 0 }), limits)).to.deep.equal(["no request ended"]);
  });

  it("LOAD-3 reports the first step that broke", () => {
    const steps = [
      { clients: 1, broken: [] },
      { clients: 4, broken: ["a"] },
      { clients: 16, broken: ["b"] },
    ];
    expect(breakOf(steps)).to.equal(4);
    expect(breakOf(steps.slice(0, 1))).to.equal(null);
  });
});

describe("saturation", () => {
  const steps = (...rates: readonly number[]) =>
    rates.map((requestsPerSecond, at) => stepReport({ clients: 4 ** at, requestsPerSecond }));

  it("LOAD-4 is the step after which more clients add less than 10 % throughput", () => {
    expect(saturationOf(steps(100, 400, 439, 440))).to.equal(4);
    expect(saturationOf(steps(100, 99, 1000))).to.equal(1);
  });

  it("LOAD-4 is not reached while each step adds 10 % or more", () => {
    expect(saturationOf(steps(100, 110, 121))).to.equal(null);
    expect(saturationOf(steps(100))).to.equal(null);
    expect(saturationOf([])).to.equal(null);
  });

  it("LOAD-4 ignores an interrupted step, and a step without more clients", () => {
    const [first = stepReport(), second = stepReport()] = steps(100, 101);
    expect(saturationOf([first, { ...second, isInterrupted: true }])).to.equal(null);
    expect(saturationOf([first, { ...second, clients: first.clients }])).to.equal(null);
  });

  it("LOAD-4 is not determined in an open loop, whose rate is fixed", () => {
    expect(saturationOf(steps(100, 100).map((step) => ({ ...step, loop: "open" as const })))).to.equal(null);
  });
});
