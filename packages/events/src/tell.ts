import type { CalmLogger } from "@svc/context";
import { guardedListener } from "@svc/resilience";

/** Returns a function that calls the listener and logs a listener that throws. */
export function createTell<E>(
  listener: ((event: E) => void) | undefined,
  logger: CalmLogger | undefined,
): (event: E) => void {
  return guardedListener(listener, (suppressed, error) =>
    logger?.warn({ err: error, suppressed }, "the listener of events throws"),
  );
}
