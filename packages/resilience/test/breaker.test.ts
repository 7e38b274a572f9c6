import { BreakerOpenError, type BreakerChange, createBreaker, OptionError } from "@svc/resilience";
import { expect } from "chai";
import fc from "fast-check";
import { deferred } from "./support/deferred.ts";
import { failure } from "./support/failure.ts";

const boom = new Error("boom");
const fail = (): Promise<never> => Promise.reject(boom);
const succeed = (): Promise<string> => Promise.resolve("ok");

function setup({ failures = 3, coolDownMs = 1_000 } = {}) {
  const clock = { at: 50 };
  const changes: BreakerChange[] = [];
  const breaker = createBreaker({
    failures,
    coolDownMs,
    now: () => clock.at,
    onChange: (change) => changes.push(change),
  });
  const failTimes = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) expect(await failure(breaker.run(fail))).to.equal(boom);
  };
  return { breaker, clock, changes, failTimes };
}

describe("createBreaker", () => {
  it("ignores errors and rejections of onChange", async () => {
    const rejected: unknown[] = [];
    const onRejection = (error: unknown): void => void rejected.push(error);
    process.on("unhandledRejection", onRejection);
    let changes = 0;
    const breaker = createBreaker({
      failures: 1,
      coolDownMs: 0,
      onChange({ to }): void {
        changes += 1;
        if (to === "closed") throw new Error("a fault of the listener");
        return Promise.reject(new Error("a fault of the listener")) as never;
      },
    });
    expect(await failure(breaker.run(fail))).to.equal(boom);
    expect(await breaker.run(succeed)).to.equal("ok");
    await new Promise(setImmediate);
    process.off("unhandledRejection", onRejection);
    expect([changes, breaker.state, rejected]).to.deep.equal([3, "closed", []]);
  });

  it("passes on results and errors while it is closed", async () => {
    const { breaker, failTimes } = setup();
    expect(await breaker.run(succeed)).to.equal("ok");
    expect(await breaker.run(() => "not a promise")).to.equal("not a promise");
    await failTimes(1);
    expect(breaker.state).to.equal("closed");
    expect(breaker.retryAfterMs).to.equal(0);
  });

  it("opens after the given number of consecutive failures, and refuses calls until the cool-down is over", async () => {
    const { breaker, clock, failTimes } = setup();
    await failTimes(3);
    expect(breaker.state).to.equal("open");
    clock.at += 400;
    let called = false;
    const error = await failure(breaker.run(() => (called = true)));
    expect(called).to.equal(false);
    expect(error).to.be.instanceOf(BreakerOpenError);
    expect(error).to.include({ code: "ERR_SVC_BREAKER_OPEN", name: "BreakerOpenError", retryAfterMs: 600 });
    expect((error as Error).message).to.equal(
      "the circuit breaker is open after recent failures; the next attempt is in 600 ms",
    );
  });

  it("counts only consecutive failures", async () => {
    const { breaker, failTimes } = setup();
    await failTimes(2);
    await breaker.run(succeed);
    await failTimes(2);
    expect(breaker.state).to.equal("closed");
  });

  it("counts a function that throws instead of rejecting as a failure", async () => {
    const { breaker } = setup({ failures: 1 });
    const error = await failure(
      breaker.run(() => {
        throw boom;
      }),
    );
    expect(error).to.equal(boom);
    expect(breaker.state).to.equal("open");
  });

  it("allows exactly one trial after the cool-down, and closes when it succeeds", async () => {
    const { breaker, clock, changes, failTimes } = setup();
    await failTimes(3);
    clock.at += 1_000;
    const trial = deferred<string>();
    const first = breaker.run(() => trial.promise);
    expect(breaker.state).to.equal("half-open");
    expect(await failure(breaker.run(succeed))).to.be.instanceOf(BreakerOpenError);
    trial.resolve("back");
    expect(await first).to.equal("back");
    expect(breaker.state).to.equal("closed");
    expect(changes).to.deep.equal([
      { from: "closed", to: "open", failures: 3 },
      { from: "open", to: "half-open", failures: 3 },
      { from: "half-open", to: "closed", failures: 0 },
    ]);
  });

  it("opens for another cool-down when the trial fails", async () => {
    const { breaker, clock, failTimes } = setup();
    await failTimes(3);
    clock.at += 1_000;
    await failTimes(1);
    expect(breaker.state).to.equal("open");
    expect(breaker.retryAfterMs).to.equal(1_000);
  });

  it("starts counting from zero after it has closed", async () => {
    const { breaker, clock, failTimes } = setup();
    await failTimes(3);
    clock.at += 1_000;
    await breaker.run(succeed);
    await failTimes(2);
    expect(breaker.state).to.equal("closed");
  });

  it("ignores the failure of a call that began before it opened", () => {
    const { breaker, clock } = setup({ failures: 1 });
    const [early, late, first] = [breaker.attempt(), breaker.attempt(), breaker.attempt()];
    first?.failed();
    clock.at += 900;
    early?.failed();
    expect(breaker.retryAfterMs, "a late failure extended the cool-down").to.equal(100);
    clock.at += 100;
    const trial = breaker.attempt();
    late?.failed();
    expect(breaker.state, "a late failure ended the trial").to.equal("half-open");
    trial?.succeeded();
    expect(breaker.state).to.equal("closed");
  });

  it("ignores the success of a call that began before it opened", () => {
    const { breaker, clock } = setup({ failures: 1 });
    const [old, first] = [breaker.attempt(), breaker.attempt()];
    first?.failed();
    old?.succeeded();
    expect(breaker.state).to.equal("open");
    clock.at += 1_000;
    expect(breaker.attempt()).to.not.equal(undefined);
    old?.succeeded();
    expect(breaker.state).to.equal("half-open");
  });

  it("allows another trial after one more cool-down when a trial never settles", () => {
    const { breaker, clock } = setup({ failures: 1 });
    breaker.attempt()?.failed();
    clock.at += 1_000;
    const hung = breaker.attempt();
    clock.at += 999;
    expect(breaker.attempt()).to.equal(undefined);
    expect(breaker.retryAfterMs).to.equal(1);
    clock.at += 1;
    const second = breaker.attempt();
    expect(second).to.not.equal(undefined);
    hung?.failed();
    expect(breaker.state, "a trial that was replaced opened it").to.equal("half-open");
    second?.failed();
    expect(breaker.state).to.equal("open");
  });

  it("closes on the success of a trial that takes longer than the cool-down", () => {
    const { breaker, clock } = setup({ failures: 1 });
    breaker.attempt()?.failed();
    clock.at += 1_000;
    const slow = breaker.attempt();
    clock.at += 1_000;
    expect(breaker.attempt()).to.not.equal(undefined);
    slow?.succeeded();
    expect(breaker.state).to.equal("closed");
  });

  it("allows another trial immediately when the caller cancels the trial", () => {
    const { breaker, clock } = setup({ failures: 1 });
    breaker.attempt()?.failed();
    clock.at += 1_000;
    breaker.attempt()?.cancelled();
    expect(breaker.state).to.equal("half-open");
    expect(breaker.retryAfterMs).to.equal(0);
    expect(breaker.attempt()).to.not.equal(undefined);
    expect(breaker.attempt()).to.equal(undefined);
  });

  it("counts only the first report of an attempt", () => {
    const { breaker } = setup({ failures: 2 });
    const attempt = breaker.attempt();
    attempt?.failed();
    attempt?.failed();
    attempt?.succeeded();
    breaker.attempt()?.failed();
    expect(breaker.state).to.equal("open");
  });

  it("counts an error as a failure when outcomeOf throws or returns an unknown value, and rejects with that error", async () => {
    const nonsense = [
      () => "nonsense" as never,
      () => {
        throw new Error("outcomeOf");
      },
    ];
    for (const outcomeOf of nonsense) {
      const breaker = createBreaker({ failures: 1, coolDownMs: 1_000, outcomeOf });
      const error = await breaker.run(() => Promise.reject(boom)).catch((thrown: unknown) => thrown);
      expect([error, breaker.state]).to.deep.equal([boom, "open"]);
    }
  });

  it("counts an error as outcomeOf classifies it", async () => {
    const breaker = createBreaker({
      failures: 2,
      coolDownMs: 1,
      outcomeOf: (error) => (error === boom ? "failed" : error === "no row" ? "succeeded" : "cancelled"),
    });
    const rejectWith = (reason: unknown) => breaker.run(() => Promise.reject(reason as Error));
    await failure(rejectWith(boom));
    await failure(rejectWith("no row"));
    await failure(rejectWith(boom));
    expect(breaker.state, "a response did not reset the count").to.equal("closed");
    await failure(rejectWith("aborted"));
    await failure(rejectWith(boom));
    expect(breaker.state, "a cancelled call reset the count").to.equal("open");
  });

  describe("allows(), succeeded() and failed()", () => {
    it("open after failures, allow one trial and close after its success", () => {
      const { breaker, clock } = setup({ failures: 2 });
      expect(breaker.allows()).to.equal(true);
      breaker.failed();
      breaker.failed();
      expect(breaker.allows()).to.equal(false);
      breaker.failed();
      breaker.succeeded();
      expect(breaker.state).to.equal("open");
      clock.at += 1_000;
      expect(breaker.allows()).to.equal(true);
      expect(breaker.allows()).to.equal(false);
      breaker.succeeded();
      expect(breaker.state).to.equal("closed");
    });

    it("do not end a trial that attempt() started", () => {
      const { breaker, clock } = setup({ failures: 1 });
      breaker.failed();
      clock.at += 1_000;
      const trial = breaker.attempt();
      breaker.failed();
      breaker.succeeded();
      expect(breaker.state).to.equal("half-open");
      trial?.succeeded();
      expect(breaker.state).to.equal("closed");
    });
  });

  for (const [wrong, message] of [
    [{ failures: 0, coolDownMs: 1 }, "failures must be a whole number of at least 1; it is 0"],
    [{ failures: 1, coolDownMs: Number.NaN }, "coolDownMs must be a number of at least 0; it is NaN"],
    [{ failures: 1, coolDownMs: 1, onChange: 1 }, "onChange must be a function"],
    [{ failures: 1, coolDownMs: 1, coolDown: 1 }, "coolDown is unknown"],
    [undefined, "the options must be an object"],
  ] as const) {
    it(`refuses the options ${JSON.stringify(wrong)}`, () => {
      expect(() => createBreaker(wrong as never))
        .to.throw(OptionError, `createBreaker(): ${message}`)
        .with.property("code", "ERR_SVC_CONFIGURATION");
    });
  }

  it("agrees with a reference model for any sequence of calls, outcomes and clock steps", () => {
    type Step = { start: true } | { settle: number; outcome: "succeeded" | "failed" } | { wait: number };
    const steps = fc.array(
      fc.oneof<fc.Arbitrary<Step>[]>(
        fc.constant({ start: true }),
        fc.record({ settle: fc.nat(5), outcome: fc.constantFrom("succeeded" as const, "failed" as const) }),
        fc.record({ wait: fc.integer({ min: 1, max: 12 }) }),
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 3 }), (script, limit) => {
        const coolDown = 10;
        let at = 0;
        const breaker = createBreaker({ failures: limit, coolDownMs: coolDown, now: () => at });
        // The model records when the breaker opens and closes, and in which state it allowed each call.
        let model: { state: "closed" | "open" | "half-open"; streak: number; until: number; epoch: object } =
          {
            state: "closed",
            streak: 0,
            until: 0,
            epoch: {},
          };
        type Call = { epoch: object; report: (outcome: "succeeded" | "failed") => void };
        let trial: Call | undefined;
        const calls: Call[] = [];
        for (const step of script) {
          if ("wait" in step) at += step.wait;
          else if ("start" in step) {
            const permitted = model.state === "closed" || at >= model.until;
            const attempt = breaker.attempt();
            expect(attempt !== undefined).to.equal(permitted);
            if (attempt === undefined) continue;
            const call = {
              epoch: model.epoch,
              report: (outcome: "succeeded" | "failed") => attempt[outcome](),
            };
            calls.push(call);
            if (model.state !== "closed") {
              model = { ...model, state: "half-open", until: at + coolDown };
              trial = call;
            }
          } else if (calls.length > 0) {
            const [call] = calls.splice(step.settle % calls.length, 1);
            if (call === undefined) continue;
            call.report(step.outcome);
            if (call.epoch !== model.epoch) continue;
            if (step.outcome === "succeeded") {
              if (model.state === "closed") model.streak = 0;
              else model = { state: "closed", streak: 0, until: 0, epoch: {} };
            } else if (model.state === "closed" ? ++model.streak >= limit : call === trial) {
              model = { state: "open", streak: 0, until: at + coolDown, epoch: {} };
            }
          }
          expect(breaker.state).to.equal(model.state);
          expect(breaker.retryAfterMs).to.equal(model.state === "closed" ? 0 : Math.max(0, model.until - at));
        }
      }),
      { numRuns: 500 },
    );
  });
});
