import { isConnectionError, SqlDeadlineError } from "@svc/sql";

/** Runs statements of schedules, a few at a time, so that failing schedules delay the others only briefly. */
export interface Lanes {
  /** Returns whether a statement of a schedule is queued or running. */
  isBusy(name: string): boolean;
  /** Runs a statement when a slot is free; doubtful ones share one slot of their own. Rejects with the error of `run`. */
  enter<T>(name: string, doubtful: boolean, run: () => Promise<T>): Promise<T>;
}

interface Waiting {
  readonly name: string;
  begin(): Promise<unknown>;
  drop(): void;
}

// Schedules due at the same moment must not take all connections of a pool.
const WIDTH = 4;

export function createLanes(): Lanes {
  const busy = new Set<string>();
  const healthy = createLane(WIDTH);
  const doubtfuls = createLane(1);

  return {
    isBusy: (name) => busy.has(name),
    enter<T>(name: string, doubtful: boolean, run: () => Promise<T>) {
      busy.add(name);
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      (doubtful ? doubtfuls : healthy).push({
        name,
        begin() {
          const running = run();
          resolve(running);
          return running;
        },
        drop: () => reject(new Error("not tried: the database does not answer")),
      });
      return promise.finally(() => busy.delete(name));
    },
  };
}

function createLane(width: number): { push(waiting: Waiting): void } {
  const queue: Waiting[] = [];
  let running = 0;
  let lost = 0;

  async function follow(first: Waiting): Promise<void> {
    running += 1;
    for (let each: Waiting | undefined = first; each !== undefined; each = queue.shift()) {
      try {
        await each.begin();
        lost = 0;
      } catch (error) {
        lost = error instanceof SqlDeadlineError || isConnectionError(error) ? lost + 1 : 0;
      }
      // The database is down: reject the queue, since each of its entries would wait for its own timeout.
      if (lost >= width) for (const waiting of queue.splice(0)) waiting.drop();
    }
    running -= 1;
    if (running === 0) lost = 0;
  }

  return {
    push(waiting) {
      if (running < width) void follow(waiting);
      else queue.push(waiting);
    },
  };
}
