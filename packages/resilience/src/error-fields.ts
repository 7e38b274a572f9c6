/**
 * Returns the name and code of an error for the log. Leaves out its message, which may contain the address of a server with
 * its password.
 */
export function errorFields(error: unknown): { readonly error?: string; readonly code?: string } {
  if (!(error instanceof Error)) return {};
  const { code } = error as { readonly code?: unknown };
  return { error: error.name, ...(typeof code === "string" ? { code } : {}) };
}
