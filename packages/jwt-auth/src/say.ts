import type { Logger } from "@svc/context";

/** Logs a line and ignores a failing logger, which must break neither a request nor a refresh of keys. */
export function say(log: Logger | undefined, level: "info" | "warn", fields: object, message: string): void {
  try {
    const answer: unknown = log?.[level](fields, message);
    if (answer instanceof Promise) answer.catch(() => undefined);
  } catch {
    // Ignore: no other logger is available to report this.
  }
}
