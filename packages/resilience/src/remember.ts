import { checkFunction, checkNames, checkNumber, type Clock, monotonic } from "./options.ts";
import { singleFlight } from "./single-flight.ts";

export interface RememberOptions {
  /** Milliseconds for which a failure is reused; 0: the next call calls `ask` again. Default 0. */
  readonly failureTtlMs?: number | undefined;
  /** Clock in milliseconds. Default `performance.now`. */
  readonly now?: Clock | undefined;
}

type Result<T> = { readonly until: number } & ({ readonly value: T } | { readonly error: unknown });

/**
 * Returns a function that calls `ask` and reuses its result for `ttlMs` milliseconds after it arrives. Concurrent callers
 * share one call, so a call that hangs is never repeated. Stores one result.
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
