import type { Logger } from "@svc/context";

/** A logger that never throws. */
export type Calm = Pick<Logger, "info" | "warn" | "error">;

/** A worker outlives a logger that throws: a line that is lost must not take jobs with it. */
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
