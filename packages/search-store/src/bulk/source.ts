import { refused } from "../errors.ts";

/**
 * Reads from a source until it ends or the signal aborts, even if the source hangs. Calls `return()` on the source if
 * it has not ended.
 */
export async function* readSource<T>(
  source: AsyncIterable<T> | Iterable<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T, void, undefined> {
  const iterator = iteratorOf(source);
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  aborted.catch(() => undefined);
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  let ended = false;
  try {
    for (;;) {
      signal?.throwIfAborted();
      const step = await Promise.race([iterator.next(), aborted]);
      if (step.done === true) {
        ended = true;
        return;
      }
      yield step.value;
    }
  } catch (error) {
    // A source that threw has ended. An aborted source has not, and may hang, so `return()` is not awaited below.
    ended = signal?.aborted !== true;
    throw error;
  } finally {
    signal?.removeEventListener("abort", abort);
    if (!ended) {
      const returned = Promise.resolve(iterator.return?.()).catch(() => undefined);
      if (signal?.aborted !== true) await returned;
    }
  }
}

function iteratorOf<T>(source: AsyncIterable<T> | Iterable<T>): AsyncIterator<T> | Iterator<T> {
  if (typeof source === "object" && source !== null) {
    if (Symbol.asyncIterator in source) return source[Symbol.asyncIterator]();
    if (Symbol.iterator in source) return source[Symbol.iterator]();
  }
  throw refused("a bulk load needs an iterable of chunks");
}
