import { expect } from "chai";
import { codeOf, failureText, kindOf } from "../src/failure-kinds.ts";
import { emptyTally, latencyOf, recordEnd, recordUnsent } from "../src/tally.ts";

function failure(code: string, message = "it failed"): Error {
  return Object.assign(new Error(message), { code });
}

describe("the latencies of a step", () => {
  it("have percentiles in microseconds with an error of at most a thousandth", () => {
    const tally = emptyTally();
    // These latencies range from 0.1 ms to 1 s.
    for (let at = 1; at <= 10_000; at++) recordEnd(tally, at / 10, 200, undefined);
    const { p50, p95, p99, max } = latencyOf(tally);
    expect(p50).to.be.closeTo(500_000, 500);
    expect(p95).to.be.closeTo(950_000, 950);
    expect(p99).to.be.closeTo(990_000, 990);
    expect(max).to.be.closeTo(1_000_000, 1000);
  });

  it("distinguish latencies below a millisecond, and count those over an hour as an hour", () => {
    const tally = emptyTally();
    for (const ms of [0.043, 0.044, 4e6]) recordEnd(tally, ms, 200, undefined);
    expect(latencyOf(tally).p50).to.equal(44);
    expect(latencyOf(tally).max).to.be.closeTo(3.6e9, 3.6e6);
  });

  it("have no percentile above the maximum", () => {
    const tally = emptyTally();
    recordEnd(tally, 253.526, 200, undefined);
    expect(latencyOf(tally)).to.deep.equal({ p50: 253_526, p95: 253_526, p99: 253_526, max: 253_526 });
  });

  it("are 0 without a request", () => {
    expect(latencyOf(emptyTally())).to.deep.equal({ p50: 0, p95: 0, p99: 0, max: 0 });
  });

  it("include requests that timed out, and no other failures", () => {
    const tally = emptyTally();
    recordEnd(tally, 100, 0, failure("ETIMEDOUT"));
    recordEnd(tally, 1, 0, failure("ECONNREFUSED"));
    expect(tally.latencies.totalCount).to.equal(1);
    expect(tally.failures).to.deep.equal({ refused: 1, reset: 0, timeout: 1, badAnswer: 0 });
  });

  it("include each request that was not sent, with the time that it waited, even in a backlog of millions", () => {
    for (const [gapMs, count] of [
      [10, 100],
      [0.0004, 2_500_000],
    ] as const) {
      const tally = emptyTally();
      recordUnsent(tally, 5000, 6000, gapMs);
      expect([tally.unsent, tally.latencies.totalCount]).to.deep.equal([count, count]);
      expect(latencyOf(tally).p50).to.be.closeTo(500_000, 10_500);
      expect(latencyOf(tally).max).to.be.closeTo(1_000_000, 1000);
    }
    const none = emptyTally();
    recordUnsent(none, 6005, 6000, 10);
    expect([none.unsent, none.latencies.totalCount]).to.deep.equal([0, 0]);
  });
});

describe("the kinds of failures", () => {
  it("LOAD-6 are distinguished by the code of the error", () => {
    const kinds = {
      ECONNREFUSED: "refused",
      ENOTFOUND: "refused",
      ECONNRESET: "reset",
      EPIPE: "reset",
      UND_ERR_SOCKET: "reset",
      ETIMEDOUT: "timeout",
      UND_ERR_CONNECT_TIMEOUT: "timeout",
      HPE_INVALID_CONSTANT: "badAnswer",
      UND_ERR_HEADERS_OVERFLOW: "badAnswer",
    };
    for (const [code, kind] of Object.entries(kinds)) expect(kindOf(failure(code)), code).to.equal(kind);
    expect(kindOf(failure("UND_ERR_SOCKET", "bad response"))).to.equal("badAnswer");
    expect(kindOf(new Error("no code"))).to.equal("badAnswer");
  });

  it("depend on the error of the first address if several were tried", () => {
    const error = new AggregateError([failure("ECONNREFUSED"), failure("EHOSTUNREACH")]);
    expect([codeOf(error), kindOf(error)]).to.deep.equal(["ECONNREFUSED", "refused"]);
    expect(failureText(error)).to.equal("ECONNREFUSED");
    expect(failureText(failure("EX", "it failed"))).to.equal("it failed (EX)");
    expect(failureText(failure("EX", "connect EX"))).to.equal("connect EX");
  });
});
