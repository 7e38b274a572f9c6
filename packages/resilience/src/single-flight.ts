/** A function whose concurrent callers share one call. */
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
    // finally() runs its callback asynchronously even when the call throws, so `current` is assigned before it is
    // cleared.
    current ??= start().finally(() => {
      current = undefined;
    });
    return current;
  }

  return Object.defineProperty(shared, "pending", { get: () => current !== undefined }) as SingleFlight<T>;
}
