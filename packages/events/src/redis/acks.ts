import { backoff } from "@svc/resilience";
import { setTimeout as sleep } from "node:timers/promises";

/** Acknowledges, as many at a time as have gathered, until it has succeeded. */
export interface Acks {
  /** Resolves when the entry is acknowledged, or nobody can do it any more. */
  add(stream: string, id: string): Promise<void>;
}

interface Waiting {
  readonly id: string;
  readonly done: () => void;
}

/**
 * @param send acknowledges entries of one stream
 * @param ended aborts when what fails is not to be tried again
 */
export function createAcks(
  send: (stream: string, ids: readonly string[]) => Promise<void>,
  ended: AbortSignal,
): Acks {
  const waiting = new Map<string, Waiting[]>();
  const pause = backoff({ baseMs: 50, minMs: 50, maxMs: 2000 });

  async function flush(stream: string, list: Waiting[]): Promise<void> {
    // What is done in the same turn travels together.
    await Promise.resolve();
    for (let failures = 0; ;) {
      const batch = list.splice(0, 1000);
      if (batch.length === 0) break;
      try {
        await send(
          stream,
          batch.map(({ id }) => id),
        );
      } catch {
        if (!ended.aborted) {
          list.unshift(...batch);
          failures++;
          await sleep(pause(failures), undefined, { signal: ended }).catch(() => undefined);
          continue;
        }
      }
      for (const { done } of batch) done();
    }
    waiting.delete(stream);
  }

  return {
    add(stream, id) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const list = waiting.get(stream);
      if (list !== undefined) {
        list.push({ id, done: resolve });
      } else {
        const started = [{ id, done: resolve }];
        waiting.set(stream, started);
        void flush(stream, started);
      }
      return promise;
    },
  };
}
