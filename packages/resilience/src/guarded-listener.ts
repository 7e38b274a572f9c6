import { atMostEvery } from "./at-most-every.ts";
import { checkFunction } from "./options.ts";

const FAILED_EVERY_MS = 10_000;

/**
 * Returns a listener that never throws. An error of `listener`, thrown or rejected, goes to `failed` instead of the caller, at
 * most once in ten seconds.
 *
 * @param listener undefined gives a function that does nothing
 * @param failed gets the number of errors dropped since its last call, and the error; must not throw
 * @throws OptionError
 */
export function guardedListener<E>(
  listener: ((event: E) => void) | undefined,
  failed: (suppressed: number, error: unknown) => void,
): (event: E) => void {
  checkFunction("guardedListener()", "listener", listener);
  if (listener === undefined) return () => undefined;
  const tell = atMostEvery(FAILED_EVERY_MS, failed);
  return (event) => {
    try {
      const answer: unknown = listener(event);
      // TypeScript accepts an async function where void is expected.
      if (answer instanceof Promise) answer.catch(tell);
    } catch (error) {
      tell(error);
    }
  };
}
