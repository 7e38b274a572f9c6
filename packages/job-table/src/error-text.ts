/** Maximum length of `last_error`, in characters (JOB-13). */
export const MAX_ERROR_LENGTH = 2000;

/**
 * Returns the string to store for an error: its name, its message and that of its cause, at most 2,000 characters.
 * Masks credentials in URLs, and drops control characters other than newline and tab. Never throws.
 */
export function errorText(error: unknown): string {
  let text: string;
  try {
    text = described(error);
  } catch {
    text = "an error that could not be converted to text";
  }
  // Truncate first, to avoid cleaning megabytes of text.
  return cleaned(text.slice(0, 2 * MAX_ERROR_LENGTH))
    .slice(0, MAX_ERROR_LENGTH)
    .toWellFormed();
}

function described(error: unknown): string {
  const own = one(error);
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? own : `${own} (caused by ${one(cause)})`;
}

function one(error: unknown): string {
  if (error instanceof Error) {
    const { name, message, code } = error as NodeJS.ErrnoException;
    if (message !== "") return `${name}: ${message}`;
    // When a host refuses connections on all its addresses, the AggregateError has a code but no message.
    return typeof code === "string" ? `${name}: ${code}` : name;
  }
  if (typeof error === "string") return error === "" ? "an empty string was thrown" : error;
  if (typeof error !== "object" || error === null) return `${String(error)} was thrown`;
  const { message } = error as { readonly message?: unknown };
  return typeof message === "string" && message !== "" ? message : "an object was thrown";
}

function cleaned(text: string): string {
  // Remove terminal colours first: without the escape character their codes would remain.
  return (
    text
      // oxlint-disable-next-line no-control-regex
      .replace(/\u001b\[[0-9;]*[A-Za-z]/g, "")
      .replace(/[^\P{Cc}\n\t]/gu, "")
      .replace(/\/\/[^/?#\s]*@/g, "//***@")
  );
}
