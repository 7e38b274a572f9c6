import { OptionError, remember, singleFlight } from "@svc/resilience";
import { expect } from "chai";
import { type Deferred, deferred } from "./support/deferred.ts";
import { failure } from "./support/failure.ts";

describe("singleFlight", () => {
  it("returns the result of a running call to concurrent callers", async () => {
    const calls: Deferred<number>[] = [];
    const flight = singleFlight(() => {
      const call = deferred<number>();
      calls.push(call);
      return call.promise;
    });
    const waiting = Promise.all(Array.from({ length: 1_000 }, () => flight()));
    expect(flight.pending).to.equal(true);
    calls[0]?.resolve(7);
    expect(new Set(await waiting)).to.deep.equal(new Set([7]));
    expect(calls).to.have.lengthOf(1);
    expect(flight.pending).to.equal(false);
  });

  it("passes the failure of a running call to concurrent callers, without a second call", async () => {
    let calls = 0;
    const boom = new Error("boom");
    const flight = singleFlight(() => (calls++, Promise.reject(boom)));
    const outcomes = await Promise.allSettled([flight(), flight(), flight()]);
    expect(outcomes.map((each) => each.status === "rejected" && each.reason === boom)).to.deep.equal([
      true,
      true,
      true,
    ]);
    expect(calls).to.equal(1);
  });

  it("starts a new call after a result, a rejection and a throw", async () => {
    let calls = 0;
    const flight = singleFlight(() => {
      calls += 1;
      if (calls === 1) throw new Error("at once");
      return calls === 2 ? Promise.reject(new Error("later")) : calls;
    });
    expect(((await failure(flight())) as Error).message).to.equal("at once");
    expect(((await failure(flight())) as Error).message).to.equal("later");
    expect(await flight()).to.equal(3);
    expect(await flight()).to.equal(4);
  });
});

describe("remember", () => {
  function setup(options: { failureTtlMs?: number } = {}) {
    const clock = { at: 0 };
    const asked: Deferred<string>[] = [];
    const answer = remember(
      1_000,
      () => {
        const question = deferred<string>();
        asked.push(question);
        return question.promise;
      },
      { ...options, now: () => clock.at },
    );
    return { clock, asked, answer };
  }

  it("reuses a result for ttlMs from its arrival", async () => {
    const { clock, asked, answer } = setup();
    const first = answer();
    clock.at = 5_000;
    asked[0]?.resolve("a");
    expect(await first).to.equal("a");
    clock.at = 5_999;
    expect(await answer()).to.equal("a");
    expect(asked).to.have.lengthOf(1);
    clock.at = 6_000;
    const second = answer();
    asked[1]?.resolve("b");
    expect(await second).to.equal("b");
    expect(await answer()).to.equal("b");
  });

  it("shares a call that hangs and never repeats it", async () => {
    const { clock, asked, answer } = setup();
    const waiting = [answer()];
    clock.at = 1_000_000;
    waiting.push(answer(), answer());
    await Promise.resolve();
    expect(asked).to.have.lengthOf(1);
    asked[0]?.resolve("at last");
    expect(await Promise.all(waiting)).to.deep.equal(["at last", "at last", "at last"]);
  });

  it("does not return the old result while a newer call is running, even if the clock moves backwards", async () => {
    const { clock, asked, answer } = setup();
    const first = answer();
    asked[0]?.resolve("old");
    await first;
    clock.at = 1_000;
    const second = answer();
    clock.at = 500;
    const third = answer();
    asked[1]?.resolve("new");
    expect(await Promise.all([second, third])).to.deep.equal(["new", "new"]);
  });

  it("calls again after a failure by default", async () => {
    const { asked, answer } = setup();
    const first = answer();
    asked[0]?.reject(new Error("boom"));
    await failure(first);
    const second = answer();
    asked[1]?.resolve("fine");
    expect(await second).to.equal("fine");
  });

  it("reuses a failure for failureTtlMs", async () => {
    const { clock, asked, answer } = setup({ failureTtlMs: 200 });
    const boom = new Error("boom");
    const first = answer();
    asked[0]?.reject(boom);
    expect(await failure(first)).to.equal(boom);
    clock.at = 199;
    expect(await failure(answer())).to.equal(boom);
    expect(asked).to.have.lengthOf(1);
    clock.at = 200;
    const second = answer();
    asked[1]?.resolve("fine");
    expect(await second).to.equal("fine");
  });

  it("refuses invalid times to live and unknown options", () => {
    expect(() => remember(-1, () => 1)).to.throw(
      OptionError,
      "remember(): ttlMs must be a number of at least 0",
    );
    expect(() => remember(1, () => 1, { failureTtlMs: Infinity })).to.throw(OptionError, "failureTtlMs");
    expect(() => remember(1, () => 1, { ttlMs: 1 } as never)).to.throw(OptionError, "ttlMs is unknown");
  });
});
