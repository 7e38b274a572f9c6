/** The log methods of `Logger` in `@svc/context`, which pino and loggers like `console` have. */
type LogMethods = Record<
  "debug" | "info" | "warn" | "error" | "fatal",
  (fields: object, message?: string) => void
>;

/**
 * Returns a logger that never throws: a failed log call must not fail a request, a job or an event. Ignores rejections
 * of async methods, and calls of a level that the logger does not have.
 *
 * @param logger if undefined, returns undefined
 */
export function safeLogger(logger: Partial<LogMethods> | undefined): LogMethods | undefined {
  if (logger === undefined) return undefined;
  const safe =
    (level: keyof LogMethods) =>
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
    debug: safe("debug"),
    info: safe("info"),
    warn: safe("warn"),
    error: safe("error"),
    fatal: safe("fatal"),
  };
}
