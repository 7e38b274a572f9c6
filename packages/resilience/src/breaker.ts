import { createEmitter } from "./emitter.ts";
import { checkFunction, checkNames, checkWhole, checkNumber, type Clock, monotonic } from "./options.ts";

/**
 * `closed`: calls are allowed. `open`: calls are refused immediately. `half-open`: only a trial call is allowed. An open
 * breaker stays `open` until the next call starts the trial, even long after the cool-down has ended.
 */
export type BreakerState = "closed" | "open" | "half-open";

/** The outcome of a call, as the breaker counts it. `cancelled` does not count: the caller gave up. */
export type Outcome = "succeeded" | "failed" | "cancelled";

export interface BreakerChange {
  readonly from: BreakerState;
  readonly to: BreakerState;
  /** Failures in a row at the time of the change. */
  readonly failures: number;
}

export interface BreakerOptions {
  /** Failures in a row that open the breaker, at least 1. Required. */
  readonly failures: number;
  /**
   * Milliseconds for which an open breaker refuses every call, and the time after which another trial may replace one
   * that has not settled. Required.
   */
  readonly coolDownMs: number;
  /**
   * Classifies an error of `run`. The error counts as a failure when this function throws or returns any other value.
   * Default: every error is a failure.
   */
  readonly outcomeOf?: ((error: unknown) => Outcome) | undefined;
  /** Called after every change of state; its errors are dropped. Default: none. */
  readonly onChange?: ((change: BreakerChange) => void) | undefined;
  /** Clock in milliseconds. Default `performance.now`. */
  readonly now?: Clock | undefined;
}

/** One call that the breaker allowed. Only the first report counts. */
export interface Attempt {
  succeeded(): void;
  failed(): void;
  /**
   * Reports that the call ended without an outcome; if it was the trial, the next call may become the trial immediately.
   */
  cancelled(): void;
}

export interface Breaker {
  /**
   * Runs `call` and counts its outcome.
   * @throws BreakerOpenError immediately, without running `call`, while the breaker is open
   */
  run<T>(call: () => T | Promise<T>): Promise<T>;
  /**
   * Returns an attempt when a call is allowed, else undefined. For callers that report the outcome elsewhere in their
   * code.
   */
  attempt(): Attempt | undefined;
  /**
   * Returns whether a call is allowed now. If the breaker was open, that call is the trial. Report its outcome with
   * `succeeded()` or `failed()`. They cannot distinguish calls: use `attempt()` if calls overlap.
   */
  allows(): boolean;
  succeeded(): void;
  failed(): void;
  readonly state: BreakerState;
  /** Milliseconds until a call may be allowed; 0 if a call may be allowed now. */
  readonly retryAfterMs: number;
}

/** Thrown instead of making a call while the breaker is open. */
export class BreakerOpenError extends Error {
  override readonly name = "BreakerOpenError";
  readonly code = "ERR_SVC_BREAKER_OPEN";
  /** Milliseconds until the next call may be allowed. */
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    super(
      `the circuit breaker is open after recent failures; the next attempt is in ${Math.ceil(retryAfterMs)} ms`,
    );
    this.retryAfterMs = retryAfterMs;
  }
}

/** Identifies all calls made with `allows()`, which does not create attempt objects. */
const UNNAMED: unique symbol = Symbol("a call of allows()");

/**
 * Creates a circuit breaker: after `failures` failures in a row it refuses calls for `coolDownMs`, then allows one trial.
 * The trial closes the breaker or opens it again. If a trial has not settled after `coolDownMs`, another trial may start.
 *
 * Results of calls that began before the breaker last opened or closed do not count.
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

  // An error of onChange must not replace the result of a call.
  const { emit } = createEmitter(options.onChange, () => undefined);
  let state: BreakerState = "closed";
  let failures = 0;
  // While open: the end of the cool-down. While half-open: the time after which another trial may start.
  let waitUntil = 0;
  // Increases when the breaker opens or closes, not when a trial begins. A call's outcome counts only in the period in
  // which the call was allowed.
  let period = 0;
  let trial: object | typeof UNNAMED | undefined;

  function change(to: BreakerState): void {
    const from = state;
    state = to;
    if (to !== "half-open") {
      period += 1;
      trial = undefined;
    }
    if (from !== to) emit({ from, to, failures });
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
      // A slow trial that another trial has replaced may still close the breaker, but not open it.
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

  // An error in outcomeOf must neither hide the call's error nor leave the call without an outcome.
  function verdictOn(error: unknown): Outcome {
    try {
      const outcome: unknown = outcomeOf?.(error);
      return outcome === "succeeded" || outcome === "cancelled" ? outcome : "failed";
    } catch {
      return "failed";
    }
  }

  function reportUnnamed(outcome: Outcome): void {
    // While an attempt is the trial, a report without an attempt belongs to an older call.
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
