import type { Logger } from "./types.ts";

/** The levels of what works in the background. */
export type CalmLogger = Pick<Logger, "info" | "warn" | "error">;

/**
 * A logger that never throws, for what works in the background: a line that is lost must not take a job, an event or a tick with it.
 *
 * @param logger none is none
 */
export function calmLogger(logger: CalmLogger | undefined): CalmLogger | undefined {
  if (logger === undefined) return undefined;
  const calm =
    (level: keyof CalmLogger) =>
    (fields: object, message?: string): void => {
      try {
        logger[level](fields, message);
      } catch {
        // There is nowhere to say so.
      }
    };
  return { info: calm("info"), warn: calm("warn"), error: calm("error") };
}
