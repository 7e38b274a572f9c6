import type { CalmLogger } from "@svc/context";
import { guardedListener } from "@svc/resilience";

/** Hands events on to a listener; one that throws is logged and changes nothing. */
export function createTell<E>(
  listener: ((event: E) => void) | undefined,
  logger: CalmLogger | undefined,
): (event: E) => void {
  return guardedListener(listener, (suppressed, error) =>
    logger?.warn({ err: error, suppressed }, "the listener of events throws"),
  );
}
