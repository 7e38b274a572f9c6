/** A function whose callers share the call that is under way. */
export interface SingleFlight<T> {
  (): Promise<T>;
  /** Whether a call is under way. */
  readonly pending: boolean;
}

/**
 * One call at a time: who calls while one is under way gets its result, its failure too. The next call after that
 * starts anew. The call runs in the async context of whoever started it.
 */
export function singleFlight<T>(call: () => T | Promise<T>): SingleFlight<T> {
  let current: Promise<T> | undefined;

  async function start(): Promise<T> {
    return call();
  }

  function shared(): Promise<T> {
    // finally() runs later even when the call threw at once, so it never clears too early.
    current ??= start().finally(() => {
      current = undefined;
    });
    return current;
  }

  return Object.defineProperty(shared, "pending", { get: () => current !== undefined }) as SingleFlight<T>;
}
