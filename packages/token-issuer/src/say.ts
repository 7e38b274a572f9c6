import { currentContext, type Logger } from "@svc/context";

/**
 * Writes a line, to the logger of the current request where it has one. A logger that cannot write must not cost a
 * session its tokens.
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
    // Nothing is left that could be told.
  }
}

/** What of an error may be logged: never its message, which may hold the address of a store with its password. */
export function errorFields(error: unknown): { readonly error?: string; readonly code?: string } {
  if (!(error instanceof Error)) return {};
  const { code } = error as { readonly code?: unknown };
  return { error: error.name, ...(typeof code === "string" ? { code } : {}) };
}
