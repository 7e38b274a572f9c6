import { currentContext, type Logger } from "@svc/context";

/**
 * Logs to the logger of the current request, else to `fallback`. Ignores errors of the logger, so that a refresh does not
 * lose its tokens.
 */
export function say(
  fallback: Logger | undefined,
  level: "info" | "warn",
  fields: object,
  message: string,
): void {
  try {
    const context = currentContext();
    const id = context?.requestId ?? "";
    const log = context?.log ?? fallback;
    const answer: unknown = log?.[level](id === "" ? fields : { ...fields, request_id: id }, message);
    if (answer instanceof Promise) answer.catch(() => undefined);
  } catch {
    // Ignore: no other logger is available to report this.
  }
}

/** Returns the fields of an error for the log. Leaves out its message, which may contain the address of a store. */
export function errorFields(error: unknown): { readonly error?: string; readonly code?: string } {
  if (!(error instanceof Error)) return {};
  const { code } = error as { readonly code?: unknown };
  return { error: error.name, ...(typeof code === "string" ? { code } : {}) };
}
