import type { Logger } from "@svc/context";

/** A logger that never throws: a line that is lost must not end a consumption. */
export function say(
  logger: Logger | undefined,
  level: "info" | "warn" | "error",
  fields: object,
  message: string,
): void {
  try {
    logger?.[level](fields, message);
  } catch {
    // There is nowhere to say so.
  }
}
