import { backoff } from "@svc/resilience";
import { setTimeout as sleep } from "node:timers/promises";

/** Acknowledges entries in batches and retries until it succeeds. */
export interface Acks {
  /** Resolves when the entry is acknowledged, or when retries end at shutdown. */
  add(stream: string, id: string): Promise<void>;
}

interface Waiting {
  readonly id: string;
  readonly done: () => void;
}

/**
 * @param send acknowledges entries of one stream
 * @param ended aborts the retries
 */
export function createAcks(
  send: (stream: string, ids: readonly string[]) => Promise<void>,
  ended: AbortSignal,
): Acks {
  const waiting = new Map<string, Waiting[]>();
  const pause = backoff({ baseMs: 50, minMs: 50, maxMs: 2000 });

  async function flush(stream: string, list: Waiting[]): Promise<void> {
    // Collect the entries handled in the same turn into one command.
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
