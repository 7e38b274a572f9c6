/** Maximum size of the budget, and so of one burst of retries. Besides the share of calls, one retry per second is added. */
const RESERVE = 10;

/** Limits retries to a share of all calls, so that they cannot multiply the load of a failing service. */
export interface RetryBudget {
  /** Counts a call. */
  called(): void;
  /** Returns whether a retry is allowed now, and counts it. */
  take(): boolean;
}

/**
 * Creates a budget of retries. It begins with ten, grows by `perCall` with each call and by one per second, and never
 * exceeds ten.
 *
 * @param now clock in milliseconds
 */
export function createRetryBudget(perCall: number, now: () => number): RetryBudget {
  let left = perCall === 0 ? 0 : RESERVE;
  let at = now();
  return {
    called() {
      left = Math.min(RESERVE, left + perCall);
    },
    take() {
      if (perCall === 0) return false;
      const time = now();
      left = Math.min(RESERVE, left + Math.max(0, time - at) / 1000);
      at = time;
      if (left < 1) return false;
      left -= 1;
      return true;
    },
  };
}
