import { isConnectionError, SqlDeadlineError } from "@svc/sql";

/** Runs statements of schedules a few at a time, so that none waits long for another that fails. */
export interface Lanes {
  /** Whether something of a schedule waits or runs. */
  isBusy(name: string): boolean;
  /** Runs it when there is room; a doubtful one only beside healthy ones, one at a time. Rejects as `run` does. */
  enter<T>(name: string, doubtful: boolean, run: () => Promise<T>): Promise<T>;
}

interface Waiting {
  readonly name: string;
  begin(): Promise<unknown>;
  drop(): void;
}

// Schedules at one moment must not take a whole pool.
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
      // With a database that is out, all the others would only wait as long, one after another.
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
