/**
 * Returns the name and code of an error for the log. Omits the message, which may contain a server address with a password.
 */
export function errorFields(error: unknown): { readonly error?: string; readonly code?: string } {
  if (!(error instanceof Error)) return {};
  const { code } = error as { readonly code?: unknown };
  return { error: error.name, ...(typeof code === "string" ? { code } : {}) };
}
