import type { Logger } from "@svc/context";

/** Writes a line; a logger that cannot write must not end a process that only lost its Redis. */
export function say(log: Logger | undefined, level: "info" | "warn", fields: object, message: string): void {
  try {
    log?.[level](fields, message);
  } catch {
    // Nothing is left that could be told.
  }
}
