import { guardedListener } from "./guarded-listener.ts";
import { checkFunction, checkNames, checkWhole, checkNumber, type Clock, monotonic } from "./options.ts";

/**
 * `closed`: calls go through. `open`: calls are refused at once. `half-open`: one trial call is under way.
 * An open breaker stays `open` until somebody takes the trial, however long ago its cool-down ended.
 */
export type BreakerState = "closed" | "open" | "half-open";

/** What a call says about the thing that was called. `cancelled` says nothing: the caller gave up. */
export type Outcome = "succeeded" | "failed" | "cancelled";

export interface BreakerChange {
  readonly from: BreakerState;
  readonly to: BreakerState;
  /** Failures in a row, at the moment of the change. */
  readonly failures: number;
}

export interface BreakerOptions {
  /** Failures in a row that open the breaker, at least 1. Required. */
  readonly failures: number;
  /** Milliseconds during which an open breaker refuses every call; also how long a trial may take. Required. */
  readonly coolDownMs: number;
  /**
   * What an error of `run` says about the thing that was called. Where it throws or answers anything else, the error is a
   * failure. Default: every error is a failure.
   */
  readonly outcomeOf?: ((error: unknown) => Outcome) | undefined;
  /** Told after every change of state; what it throws is dropped. Default: nobody is told. */
  readonly onChange?: ((change: BreakerChange) => void) | undefined;
  /** Clock in milliseconds. Default `performance.now`. */
  readonly now?: Clock | undefined;
}

/** One call that the breaker let through. The first report counts, later ones do nothing. */
export interface Attempt {
  succeeded(): void;
  failed(): void;
  /** The call ended without saying anything; a trial is free for the next caller at once. */
  cancelled(): void;
}

export interface Breaker {
  /**
   * Calls `call` and counts its outcome.
   * @throws BreakerOpenError at once, without calling, while the breaker is open
   */
  run<T>(call: () => T | Promise<T>): Promise<T>;
  /** Lets one call through, or undefined. For callers that report later, from somewhere else. */
  attempt(): Attempt | undefined;
  /**
   * Whether one call may go through now; true takes the trial. Its outcome is reported with `succeeded()` or
   * `failed()`, which cannot tell calls apart: prefer `attempt()` where calls overlap.
   */
  allows(): boolean;
  succeeded(): void;
  failed(): void;
  readonly state: BreakerState;
  /** Milliseconds until a call may be let through; 0 when one may be now. */
  readonly retryAfterMs: number;
}

/** Thrown instead of calling something that kept failing. */
export class BreakerOpenError extends Error {
  override readonly name = "BreakerOpenError";
  readonly code = "ERR_SVC_BREAKER_OPEN";
  /** Milliseconds until the next call may be let through. */
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    super(`not called, because it kept failing; the next try is in ${Math.ceil(retryAfterMs)} ms`);
    this.retryAfterMs = retryAfterMs;
  }
}

/** Passed as the marker of a call that came in by `allows()`. */
const UNNAMED: unique symbol = Symbol("a call of allows()");

/**
 * A breaker: after `failures` failures in a row it refuses calls for `coolDownMs`, then lets one trial through.
 * The trial closes it or opens it again. A trial that has not settled after `coolDownMs` makes room for another.
 *
 * Results of calls that began before the last change of state count for nothing.
 * @throws OptionError
 */
export function createBreaker(options: BreakerOptions): Breaker {
  const subject = "createBreaker()";
  checkNames(subject, options, ["failures", "coolDownMs", "outcomeOf", "onChange", "now"]);
  const { failures: limit, coolDownMs, outcomeOf, now = monotonic } = options;
  checkWhole(subject, "failures", limit, 1);
  checkNumber(subject, "coolDownMs", coolDownMs, 0);
  checkFunction(subject, "outcomeOf", outcomeOf);
  checkFunction(subject, "onChange", options.onChange);
  checkFunction(subject, "now", options.now);

  // Who is told of a call must not take its result.
  const tell = guardedListener(options.onChange, () => undefined);
  let state: BreakerState = "closed";
  let failures = 0;
  // Of an open breaker the end of its cool-down, of a half-open one the end of the trial's lease.
  let waitUntil = 0;
  // Goes up whenever the breaker opens or closes, not when a trial begins: a call belongs to the period in which it
  // was let through, and to an opening belong only its own trials.
  let period = 0;
  let trial: object | typeof UNNAMED | undefined;

  function change(to: BreakerState): void {
    const from = state;
    state = to;
    if (to !== "half-open") {
      period += 1;
      trial = undefined;
    }
    if (from !== to) tell({ from, to, failures });
  }

  function enter(caller: object | typeof UNNAMED): boolean {
    if (state === "closed") return true;
    const at = now();
    const taken = state === "open" || trial !== undefined;
    if (taken && at < waitUntil) return false;
    trial = caller;
    waitUntil = at + coolDownMs;
    if (state === "open") change("half-open");
    return true;
  }

  function settle(caller: object | typeof UNNAMED, outcome: Outcome): void {
    if (state === "open") return;
    if (state === "half-open") {
      // A slow trial that another one has replaced may still bring good news, not bad.
      if (outcome === "succeeded") {
        failures = 0;
        change("closed");
      } else if (caller !== trial) {
        return;
      } else if (outcome === "cancelled") {
        trial = undefined;
      } else {
        failures += 1;
        open();
      }
    } else if (outcome === "succeeded") {
      failures = 0;
    } else if (outcome === "failed") {
      failures += 1;
      if (failures >= limit) open();
    }
  }

  function open(): void {
    waitUntil = now() + coolDownMs;
    change("open");
  }

  function attempt(): Attempt | undefined {
    let settled = false;
    const mine = period;
    const report = (outcome: Outcome): void => {
      if (settled) return;
      settled = true;
      if (mine === period) settle(self, outcome);
    };
    const self: Attempt = {
      succeeded: () => report("succeeded"),
      failed: () => report("failed"),
      cancelled: () => report("cancelled"),
    };
    return enter(self) ? self : undefined;
  }

  function retryAfterMs(): number {
    if (state === "closed" || (state === "half-open" && trial === undefined)) return 0;
    return Math.max(0, waitUntil - now());
  }

  // A fault of the function must neither hide the error nor leave the call without an outcome.
  function verdictOn(error: unknown): Outcome {
    try {
      const outcome: unknown = outcomeOf?.(error);
      return outcome === "succeeded" || outcome === "cancelled" ? outcome : "failed";
    } catch {
      return "failed";
    }
  }

  function reportUnnamed(outcome: Outcome): void {
    // While a named call is the trial, a report without a name is about an older call.
    if (state !== "half-open" || trial === UNNAMED) settle(UNNAMED, outcome);
  }

  return {
    async run(call) {
      const current = attempt();
      if (current === undefined) throw new BreakerOpenError(retryAfterMs());
      try {
        const result = await call();
        current.succeeded();
        return result;
      } catch (error) {
        current[verdictOn(error)]();
        throw error;
      }
    },
    attempt,
    allows: () => enter(UNNAMED),
    succeeded: () => reportUnnamed("succeeded"),
    failed: () => reportUnnamed("failed"),
    get state() {
      return state;
    },
    get retryAfterMs() {
      return retryAfterMs();
    },
  };
}
