import { atMostEvery, backoff, OptionError } from "@svc/resilience";
import { expect } from "chai";
import fc from "fast-check";

describe("backoff", () => {
  it("JOB-8 computes the queue's delay of min(2 x 2^(attempts - 1), 300) seconds", () => {
    const delay = backoff({ baseMs: 2_000, maxMs: 300_000, jitter: "none" });
    const seconds = Array.from({ length: 10 }, (_, index) => delay(index + 1) / 1_000);
    expect(seconds).to.deep.equal([2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
  });

  it("returns the maximum when the power overflows", () => {
    expect(backoff({ baseMs: 1, maxMs: 5_000, jitter: "none" })(100_000)).to.equal(5_000);
    expect(backoff({ baseMs: 0, maxMs: 5_000, jitter: "none" })(100_000)).to.equal(0);
  });

  it("spreads delays evenly between minMs and the delay by default", () => {
    let drawn = 0;
    const delay = backoff({ baseMs: 1_000, maxMs: 1_000, minMs: 200, random: () => drawn });
    expect(delay(1)).to.equal(200);
    drawn = 0.5;
    expect(delay(1)).to.equal(600);
    drawn = 1 - Number.EPSILON;
    expect(delay(5)).to.equal(1_000);
  });

  it("multiplies the delay by factor after each attempt", () => {
    const delay = backoff({ baseMs: 10, maxMs: 10_000, factor: 10, jitter: "none" });
    expect([delay(1), delay(2), delay(3)]).to.deep.equal([10, 100, 1_000]);
  });

  it("returns a delay from 0 to maxMs for any options", () => {
    const options = fc.record({
      baseMs: fc.nat(5_000),
      maxMs: fc.nat(60_000),
      factor: fc.double({ min: 1, max: 9, noNaN: true }),
    });
    fc.assert(
      fc.property(options, fc.integer({ min: 1, max: 5_000 }), (given, attempts) => {
        const delay = backoff(given)(attempts);
        expect(delay).to.be.within(0, given.maxMs);
      }),
    );
  });

  it("rejects invalid options", () => {
    const wrong =
      (options: object): (() => unknown) =>
      () =>
        backoff(options as never);
    expect(wrong({ maxMs: 1 })).to.throw(OptionError, "backoff(): baseMs must be a number of at least 0");
    expect(wrong({ baseMs: 1, maxMs: 5, minMs: 6 })).to.throw(
      OptionError,
      "maxMs must be a number of at least 6",
    );
    expect(wrong({ baseMs: 1, maxMs: 5, factor: 0.5 })).to.throw(OptionError, "factor");
    expect(wrong({ baseMs: 1, maxMs: 5, jitter: "half" })).to.throw(
      OptionError,
      'jitter must be "full" or "none"',
    );
    expect(wrong({ baseMs: 1, maxMs: 5, max: 5 })).to.throw(OptionError, "max is unknown");
  });

  it("refuses a number of attempts that is not a whole number of at least 1", () => {
    const delay = backoff({ baseMs: 1, maxMs: 5 });
    for (const attempts of [0, -1, 1.5, Number.NaN]) {
      expect(() => delay(attempts)).to.throw(OptionError, "attempts must be a whole number of at least 1");
    }
  });
});

describe("atMostEvery", () => {
  it("runs the action immediately, then once per interval, and passes it the number of dropped calls", () => {
    let at = 0;
    const seen: [number, string][] = [];
    const warn = atMostEvery(10_000, (dropped, text: string) => seen.push([dropped, text]), {
      now: () => at,
    });
    expect(warn("a")).to.equal(true);
    for (const text of ["b", "c", "d"]) expect(warn(text)).to.equal(false);
    at = 9_999;
    expect(warn("e")).to.equal(false);
    at = 10_000;
    expect(warn("f")).to.equal(true);
    at = 20_000;
    expect(warn("g")).to.equal(true);
    expect(seen).to.deep.equal([
      [0, "a"],
      [4, "f"],
      [0, "g"],
    ]);
  });

  it("waits for the interval even after an action that throws", () => {
    let calls = 0;
    const act = atMostEvery(
      1_000,
      () => {
        calls += 1;
        throw new Error("boom");
      },
      { now: () => 0 },
    );
    expect(act).to.throw("boom");
    expect(act()).to.equal(false);
    expect(calls).to.equal(1);
  });

  it("uses the monotonic clock by default", () => {
    let calls = 0;
    const act = atMostEvery(3_600_000, () => calls++);
    act();
    act();
    expect(calls).to.equal(1);
  });

  it("rejects invalid options", () => {
    expect(() => atMostEvery(-1, () => undefined)).to.throw(OptionError, "atMostEvery(): intervalMs");
    expect(() => atMostEvery(1, () => undefined, { clock: 1 } as never)).to.throw(
      OptionError,
      "clock is unknown",
    );
    expect(() => atMostEvery(1, () => undefined, { now: 1 } as never)).to.throw(
      OptionError,
      "now must be a function",
    );
  });
});
