import { atMostEvery } from "./at-most-every.ts";
import { checkFunction } from "./options.ts";

const FAILED_EVERY_MS = 10_000;

/**
 * A listener that can be called without care: what it throws, or rejects with where it is async, reaches `failed` instead of the
 * caller, at most once in ten seconds.
 *
 * @param listener nobody listens where there is none
 * @param failed is told how many of them were dropped since the last one; must not throw
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
      // An async function is taken for one that answers nothing.
      if (answer instanceof Promise) answer.catch(tell);
    } catch (error) {
      tell(error);
    }
  };
}
