import type { Logger } from "./types.ts";

/** The log levels that background work uses. */
export type CalmLogger = Pick<Logger, "info" | "warn" | "error">;

/**
 * Returns a logger that never throws, for background work: a failed log call must not fail a job, an event or a tick.
 * Drops rejections of async methods and lines of a level that the logger lacks.
 *
 * @param logger undefined gives undefined
 */
export function calmLogger(logger: Partial<Logger> | undefined): Logger | undefined {
  if (logger === undefined) return undefined;
  const calm =
    (level: keyof Logger) =>
    (fields: object, message?: string): void => {
      try {
        const answer: unknown = logger[level]?.(fields, message);
        // Ignore: no other logger is available to report this.
        if (answer instanceof Promise) answer.catch(() => undefined);
      } catch {
        // Ignore, for the same reason.
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
