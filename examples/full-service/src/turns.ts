import { serviceUnavailable } from "@svc/problem";

/** Runs work when its turn comes. */
export type InTurn = <T>(work: () => Promise<T>, signal: AbortSignal | undefined) => Promise<T>;

/**
 * Runs so many at once, lets so many wait, and refuses the rest with a 503. Whoever waits gives up when their signal aborts,
 * by its reason.
 */
export function createTurns(atOnce: number, waiting: number): InTurn {
  let running = 0;
  const queue = new Set<() => void>();

  /** Whoever is done hands the turn on, so it is counted already. */
  function turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      queue.add(resolve);
      signal?.addEventListener("abort", () => {
        // Else a flood of those who leave at once would keep everybody else out.
        if (queue.delete(resolve)) reject(signal.reason as Error);
      });
    });
  }

  return async function inTurn(work, signal) {
    signal?.throwIfAborted();
    if (running < atOnce) running += 1;
    else if (queue.size >= waiting) throw tooMany();
    else await turn(signal);
    try {
      return await work();
    } finally {
      const [next] = queue;
      if (next === undefined) {
        running -= 1;
      } else {
        queue.delete(next);
        next();
      }
    }
  };
}

function tooMany(): Error {
  return serviceUnavailable("too many people are signing in at this moment", { retryAfterSeconds: 2 });
}
