import { checkFunction, checkNames, checkNumber, checkWhole, OptionError } from "./options.ts";

export interface BackoffOptions {
  /** The delay before the second attempt, in milliseconds, before jitter. Required. */
  readonly baseMs: number;
  /** The longest delay, in milliseconds. Required. */
  readonly maxMs: number;
  /** The shortest delay, in milliseconds. Default 0. */
  readonly minMs?: number | undefined;
  /** The factor between one delay and the next, at least 1. Default 2. */
  readonly factor?: number | undefined;
  /** `full`: evenly spread between `minMs` and the delay. `none`: the delay itself. Default `full`. */
  readonly jitter?: "full" | "none" | undefined;
  /** Returns random numbers in [0, 1). Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/**
 * Returns a function that computes the wait after a failed attempt. It takes the number of attempts made so far (1 after the
 * first failure) and returns whole milliseconds: `min(baseMs * factor ^ (attempts - 1), maxMs)`, with jitter.
 *
 * The queue's delay (JOB-8) is `backoff({ baseMs: 2_000, maxMs: 300_000, jitter: "none" })`.
 * @throws OptionError
 */
export function backoff(options: BackoffOptions): (attempts: number) => number {
  const subject = "backoff()";
  checkNames(subject, options, ["baseMs", "maxMs", "minMs", "factor", "jitter", "random"]);
  const { baseMs, maxMs, minMs = 0, factor = 2, jitter = "full", random = Math.random } = options;
  checkNumber(subject, "minMs", minMs, 0);
  checkNumber(subject, "baseMs", baseMs, 0);
  checkNumber(subject, "maxMs", maxMs, minMs);
  checkNumber(subject, "factor", factor, 1);
  checkFunction(subject, "random", options.random);
  if (jitter !== "full" && jitter !== "none") {
    throw new OptionError(`${subject}: jitter must be "full" or "none"; it is ${String(jitter)}`);
  }

  return function delayMs(attempts: number): number {
    // NaN would produce a delay of NaN, and a very negative number a delay of 0: the caller would loop without a pause.
    checkWhole(subject, "attempts", attempts, 1);
    // The power may be infinite, and 0 times infinity is NaN.
    const grown = baseMs === 0 ? 0 : baseMs * factor ** (attempts - 1);
    const ceiling = Math.max(minMs, Math.min(grown, maxMs));
    return Math.round(jitter === "none" ? ceiling : minMs + random() * (ceiling - minMs));
  };
}
