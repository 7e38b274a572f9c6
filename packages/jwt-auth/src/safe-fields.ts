import { errorFields } from "@svc/resilience";

const NAME = /^[A-Za-z][A-Za-z0-9_]{0,60}$/;

/** Returns the name and code of an error for the log, unless they may be arbitrary text, such as a URL with a password. */
export function safeFields(error: unknown): { readonly error?: string; readonly code?: string } {
  try {
    return Object.fromEntries(
      Object.entries(errorFields(error)).filter(([, text]: readonly [string, unknown]) => {
        return typeof text === "string" && NAME.test(text);
      }),
    );
  } catch {
    // A getter of the error threw.
    return {};
  }
}
