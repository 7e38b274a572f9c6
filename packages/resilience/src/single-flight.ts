/** A function with concurrent callers that share one call. */
export interface SingleFlight<T> {
  (): Promise<T>;
  /** Whether a call is running. */
  readonly pending: boolean;
}

/**
 * Returns a function that runs one call at a time. Callers during a running call share its result or failure; the next
 * caller starts a new call. A call runs in the async context of the caller that started it.
 */
export function singleFlight<T>(call: () => T | Promise<T>): SingleFlight<T> {
  let current: Promise<T> | undefined;

  async function start(): Promise<T> {
    return call();
  }

  function shared(): Promise<T> {
    // The callback of finally() runs asynchronously even when the call throws, so it never clears too early.
    current ??= start().finally(() => {
      current = undefined;
    });
    return current;
  }

  return Object.defineProperty(shared, "pending", { get: () => current !== undefined }) as SingleFlight<T>;
}
