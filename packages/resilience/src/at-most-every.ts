import { checkFunction, checkNames, checkNumber, type Clock, monotonic } from "./options.ts";

export interface AtMostEveryOptions {
  /** Clock in milliseconds. Default `performance.now`. */
  readonly now?: Clock | undefined;
}

/**
 * Calls `act` immediately and then at most once per `intervalMs` milliseconds, for warnings that would otherwise flood a log.
 * Drops the calls in between and passes their number to the next call to `act`.
 *
 * @returns a function that returns whether it called `act`
 * @throws OptionError
 */
export function atMostEvery<A extends readonly unknown[]>(
  intervalMs: number,
  act: (suppressed: number, ...args: A) => void,
  options: AtMostEveryOptions = {},
): (...args: A) => boolean {
  const subject = "atMostEvery()";
  checkNames(subject, options, ["now"]);
  checkNumber(subject, "intervalMs", intervalMs, 0);
  checkFunction(subject, "now", options.now);
  const { now = monotonic } = options;
  let notBefore = -Infinity;
  let suppressed = 0;

  return function limited(...args: A): boolean {
    const at = now();
    if (at < notBefore) {
      suppressed += 1;
      return false;
    }
    const count = suppressed;
    notBefore = at + intervalMs;
    suppressed = 0;
    act(count, ...args);
    return true;
  };
}
