import { serviceUnavailable } from "@svc/problem";

/** Runs work when its turn comes. */
export type InTurn = <T>(work: () => Promise<T>, signal: AbortSignal | undefined) => Promise<T>;

/**
 * Returns a function that runs at most `atOnce` tasks concurrently, lets `waiting` more tasks wait, and rejects further
 * tasks with a 503. A waiting task whose signal aborts rejects with the signal's reason.
 */
export function createTurns(atOnce: number, waiting: number): InTurn {
  let running = 0;
  const queue = new Set<() => void>();

  /** Waits for a turn. A finished task passes its turn to the next one, so `running` already counts it. */
  function turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      queue.add(resolve);
      signal?.addEventListener("abort", () => {
        // Leave the queue: otherwise clients that disconnect immediately would block all others.
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
