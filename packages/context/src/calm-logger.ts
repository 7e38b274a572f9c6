import type { Logger } from "./types.ts";

/** The levels of what works in the background. */
export type CalmLogger = Pick<Logger, "info" | "warn" | "error">;

/**
 * A logger that never throws, for what works in the background: a line that is lost must not take a job, an event or a tick with it.
 * What an async method rejects with is dropped too, and so are lines of a level that the logger does not have.
 *
 * @param logger none is none
 */
export function calmLogger(logger: Partial<Logger> | undefined): Logger | undefined {
  if (logger === undefined) return undefined;
  const calm =
    (level: keyof Logger) =>
    (fields: object, message?: string): void => {
      try {
        const answer: unknown = logger[level]?.(fields, message);
        // There is nowhere to say so.
        if (answer instanceof Promise) answer.catch(() => undefined);
      } catch {
        // Nor here.
      }
    };
  return {
    debug: calm("debug"),
    info: calm("info"),
    warn: calm("warn"),
    error: calm("error"),
    fatal: calm("fatal"),
  };
}
