import { isConnectionError, SqlDeadlineError } from "@svc/sql";

interface Entry {
  start(): Promise<unknown>;
  reject(): void;
}

// Schedules that are due at the same time must not occupy all connections of a pool.
const CONCURRENCY = 4;

/**
 * Creates a queue that runs the statements of schedules, a few at a time, so that failing schedules delay the others
 * only briefly.
 */
export function createStatementQueue() {
  const busy = new Set<string>();
  const first = createQueue(CONCURRENCY);
  const retries = createQueue(1);

  return {
    /** Returns whether a statement of a schedule is queued or running. */
    isBusy: (name: string) => busy.has(name),
    /** Runs a statement when a slot is free; retries share one separate slot. Rejects with the error of `run`. */
    add<T>(name: string, isRetry: boolean, run: () => Promise<T>): Promise<T> {
      busy.add(name);
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      (isRetry ? retries : first).push({
        start() {
          const running = run();
          resolve(running);
          return running;
        },
        reject: () => reject(new Error("the statement was not sent: the database is not responding")),
      });
      return promise.finally(() => busy.delete(name));
    },
  };
}

function createQueue(concurrency: number): { push(entry: Entry): void } {
  const waiting: Entry[] = [];
  let running = 0;
  let timeouts = 0;

  async function work(first: Entry): Promise<void> {
    running += 1;
    for (let entry: Entry | undefined = first; entry !== undefined; entry = waiting.shift()) {
      try {
        await entry.start();
        timeouts = 0;
      } catch (error) {
        timeouts = error instanceof SqlDeadlineError || isConnectionError(error) ? timeouts + 1 : 0;
      }
      // The database is down: reject the queue, since each of its entries would wait for its own timeout.
      if (timeouts >= concurrency) for (const each of waiting.splice(0)) each.reject();
    }
    running -= 1;
    if (running === 0) timeouts = 0;
  }

  return {
    push(entry) {
      if (running < concurrency) void work(entry);
      else waiting.push(entry);
    },
  };
}
