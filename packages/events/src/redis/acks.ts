import { backoff } from "@svc/resilience";
import { setTimeout as sleep } from "node:timers/promises";

interface Handled {
  readonly id: string;
  readonly done: () => void;
}

const BATCH = 1000;
const pause = backoff({ baseMs: 50, minMs: 50, maxMs: 2000 });

/**
 * Returns a function that acknowledges an entry. It sends acknowledgements in batches and retries until they succeed.
 * Its promise resolves when the entry is acknowledged, or when retries end at shutdown.
 *
 * @param send acknowledges entries in one stream
 * @param ended aborts the retries
 */
export function createAcks(
  send: (stream: string, ids: readonly string[]) => Promise<void>,
  ended: AbortSignal,
): (stream: string, id: string) => Promise<void> {
  const lists = new Map<string, Handled[]>();

  async function flush(stream: string, list: Handled[]): Promise<void> {
    // Collect the entries handled in the same event-loop turn into one command.
    await Promise.resolve();
    for (let failures = 0; list.length > 0;) {
      const batch = list.slice(0, BATCH);
      const ids = batch.map(({ id }) => id);
      try {
        await send(stream, ids);
      } catch {
        if (!ended.aborted) {
          failures++;
          await sleep(pause(failures), undefined, { signal: ended }).catch(() => undefined);
          continue;
        }
      }
      list.splice(0, batch.length);
      for (const { done } of batch) done();
    }
    lists.delete(stream);
  }

  return function acknowledge(stream, id) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const handled = { id, done: resolve };
    const list = lists.get(stream);
    if (list === undefined) {
      const started = [handled];
      lists.set(stream, started);
      void flush(stream, started);
    } else {
      list.push(handled);
    }
    return promise;
  };
}
