import type { Logger } from "@svc/context";

/** A logger that never throws: a line that is lost must not take events with it. */
export type Calm = Pick<Logger, "info" | "warn" | "error">;

export function calm(logger: Logger | undefined): Calm | undefined {
  if (logger === undefined) return undefined;
  const quiet =
    (level: keyof Calm) =>
    (fields: object, message?: string): void => {
      try {
        logger[level](fields, message);
      } catch {
        // There is nowhere to say so.
      }
    };
  return { info: quiet("info"), warn: quiet("warn"), error: quiet("error") };
}

/** Hands events on to a listener; one that throws changes nothing. */
export function createTell<E>(
  listener: ((event: E) => void) | undefined,
  logger: Calm | undefined,
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
