import type { Logger } from "@svc/context";

/** Writes a line; a logger that cannot write must cost neither a request its answer nor a service its keys. */
export function say(log: Logger | undefined, level: "info" | "warn", fields: object, message: string): void {
  try {
    const answer: unknown = log?.[level](fields, message);
    if (answer instanceof Promise) answer.catch(() => undefined);
  } catch {
    // Nothing is left that could be told.
  }
}
