import { checkFunction, checkNames, checkNumber, type Clock, monotonic } from "./options.ts";
import { singleFlight } from "./single-flight.ts";

export interface RememberOptions {
  /** Milliseconds for which a failure is reused; 0 asks again at once. Default 0. */
  readonly failureTtlMs?: number | undefined;
  /** Clock in milliseconds. Default `performance.now`. */
  readonly now?: Clock | undefined;
}

type Result<T> = { readonly until: number } & ({ readonly value: T } | { readonly error: unknown });

/**
 * Asks once and reuses the answer for `ttlMs` milliseconds, counted from when it arrived. Callers that come while the
 * question is out share it: a question that hangs is never asked a second time. Holds one answer.
 * @throws OptionError
 */
export function remember<T>(
  ttlMs: number,
  ask: () => T | Promise<T>,
  options: RememberOptions = {},
): () => Promise<T> {
  const subject = "remember()";
  checkNames(subject, options, ["failureTtlMs", "now"]);
  const { failureTtlMs = 0, now = monotonic } = options;
  checkNumber(subject, "ttlMs", ttlMs, 0);
  checkNumber(subject, "failureTtlMs", failureTtlMs, 0);
  checkFunction(subject, "now", options.now);
  let last: Result<T> | undefined;

  const asked = singleFlight(async () => {
    last = undefined;
    try {
      const value = await ask();
      last = { until: now() + ttlMs, value };
      return value;
    } catch (error) {
      last = { until: now() + failureTtlMs, error };
      throw error;
    }
  });

  return async function remembered(): Promise<T> {
    if (last === undefined || now() >= last.until) return asked();
    if ("error" in last) throw last.error;
    return last.value;
  };
}
