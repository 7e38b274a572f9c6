import type { CalmLogger } from "@svc/context";

/** Hands events on to a listener; one that throws changes nothing. */
export function createTell<E>(
  listener: ((event: E) => void) | undefined,
  logger: CalmLogger | undefined,
): (event: E) => void {
  if (listener === undefined) return () => undefined;
  const failed = (error: unknown): void => logger?.warn({ err: error }, "the listener of events throws");
  return (event) => {
    try {
      const answer: unknown = listener(event);
      // An async function is taken for one that answers nothing.
      if (answer instanceof Promise) answer.catch(failed);
    } catch (error) {
      failed(error);
    }
  };
}
