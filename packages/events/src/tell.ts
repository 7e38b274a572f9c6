import type { Logger } from "@svc/context";
import { createEmitter } from "@svc/resilience";

/** Returns a function that calls the listener and logs a listener that throws. */
export function createTell<E>(
  listener: ((event: E) => void) | undefined,
  logger: Logger | undefined,
): (event: E) => void {
  return createEmitter(listener, (suppressed, error) =>
    logger?.warn({ err: error, suppressed }, "the listener of events throws"),
  ).emit;
}
