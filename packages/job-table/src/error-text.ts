/** Characters that `last_error` keeps (JOB-13). */
export const MAX_ERROR_LENGTH = 2000;

/**
 * What is kept of an error: its name, its message and those of its cause, at most 2,000 characters. User-info in a URL is
 * masked; control characters are dropped, and what no text of PostgreSQL can hold. Never throws.
 */
export function errorText(error: unknown): string {
  let text: string;
  try {
    text = described(error);
  } catch {
    text = "an error that cannot be read";
  }
  // A text of megabytes is not worth being cleaned.
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
    // A host of several addresses that refuses all of them says nothing else.
    return typeof code === "string" ? `${name}: ${code}` : name;
  }
  if (typeof error === "string") return error === "" ? "an empty text was thrown" : error;
  if (typeof error !== "object" || error === null) return `${String(error)} was thrown`;
  const { message } = error as { readonly message?: unknown };
  return typeof message === "string" && message !== "" ? message : "an object was thrown";
}

function cleaned(text: string): string {
  // Colours of a terminal first: without their escape character the rest would stay.
  return (
    text
      // oxlint-disable-next-line no-control-regex
      .replace(/\u001b\[[0-9;]*[A-Za-z]/g, "")
      .replace(/[^\P{Cc}\n\t]/gu, "")
      .replace(/\/\/[^/?#\s]*@/g, "//***@")
  );
}
