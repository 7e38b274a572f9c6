import { atMostEvery } from "./at-most-every.ts";
import { OptionError } from "./options.ts";

/** Passes events of one type, usually a union, to listeners. Both methods work without `this`. */
export interface Emitter<E> {
  /** Calls all listeners in the order in which they were added. Never throws. */
  readonly emit: (event: E) => void;
  /**
   * Adds a listener.
   * @returns a function that removes it
   * @throws OptionError for a value that is not a function, or more than 100 listeners
   */
  readonly on: (listener: (event: E) => void) => () => void;
}

const FAILED_EVERY_MS = 10_000;
// A larger number indicates a leak.
const LISTENERS_AT_MOST = 100;

/**
 * Creates an emitter whose listeners cannot affect the code that emits: an error from a listener, thrown or rejected, goes
 * to `failed`, at most once every ten seconds.
 *
 * @param listener the first listener, for an option such as `onEvent`; undefined for none
 * @param failed receives the number of errors dropped since its last call, and the error; must not throw
 * @throws OptionError
 */
export function createEmitter<E>(
  listener: ((event: E) => void) | undefined,
  failed: (suppressed: number, error: unknown) => void,
): Emitter<E> {
  const report = atMostEvery(FAILED_EVERY_MS, failed);
  let listeners: readonly ((event: E) => unknown)[] = [];

  function on(added: (event: E) => void): () => void {
    if (typeof added !== "function") throw new OptionError("createEmitter(): listener must be a function");
    if (listeners.length >= LISTENERS_AT_MOST) {
      throw new OptionError(
        `createEmitter(): at most ${LISTENERS_AT_MOST} listeners are allowed; remove unused ones`,
      );
    }
    const entry = (event: E): unknown => added(event);
    // Replace the list, so that a change during an event affects only later events.
    listeners = [...listeners, entry];
    return () => {
      listeners = listeners.filter((each) => each !== entry);
    };
  }

  function emit(event: E): void {
    for (const each of listeners) {
      try {
        const answer = each(event);
        // A listener may be async, because TypeScript accepts an async function where void is expected.
        if (answer instanceof Promise) answer.catch(report);
      } catch (error) {
        report(error);
      }
    }
  }

  if (listener !== undefined) on(listener);
  return { emit, on };
}
