import type { CallLimit } from "./call-limit.ts";

// At the default limits, the last of 1,000 waiting calls starts in time only if calls take less than 25 ms.
const MAX_WAITING = 1000;

/** Limits the number of concurrent calls. */
export interface Bulkhead {
  readonly running: number;
  readonly waiting: number;
  /**
   * Returns undefined if a call may start now, else a promise: true when the call may start, false when no other call ends
   * in time or too many calls wait. Each call that may start must call `leave()` once.
   *
   * @throws the reason of the call's limit, as a rejection, if the call ends while it waits
   */
  enter(limit: CallLimit): Promise<boolean> | undefined;
  leave(): void;
}

interface Waiting {
  readonly start: () => void;
}

/**
 * Creates a limit of `limit` concurrent calls; further calls wait in the order of their arrival.
 *
 * @param maxWaitMs longest wait in milliseconds
 */
export function createBulkhead(limit: number, maxWaitMs: number): Bulkhead {
  const queue = new Set<Waiting>();
  let running = 0;

  function wait(call: CallLimit): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const give = (): void => {
        clearTimeout(timer);
        call.watch(undefined);
        queue.delete(waiting);
      };
      const waiting: Waiting = {
        start() {
          give();
          running += 1;
          resolve(true);
        },
      };
      const timer = setTimeout(() => {
        give();
        resolve(false);
      }, maxWaitMs);
      queue.add(waiting);
      call.watchWait((reason) => {
        give();
        reject(reason as Error);
      });
    });
  }

  return {
    get running() {
      return running;
    },
    get waiting() {
      return queue.size;
    },
    enter(call) {
      if (running < limit) {
        running += 1;
        return undefined;
      }
      if (queue.size >= MAX_WAITING || maxWaitMs === 0) return Promise.resolve(false);
      return wait(call);
    },
    leave() {
      running -= 1;
      const [next] = queue;
      next?.start();
    },
  };
}
