const MAX_TEXT = 255;
export const CONTROL: RegExp = /[\p{Cc}\p{Surrogate}]/u;

/** Returns why a value cannot be the name of a task or the id of a job. */
export function textFault(value: unknown): string | undefined {
  if (typeof value !== "string") return `must be a string; it is ${shown(value)}`;
  if (value === "" || value.length > MAX_TEXT)
    return `must have 1 to ${MAX_TEXT} characters; it has ${value.length}`;
  return CONTROL.test(value) ? "must not contain control characters or unpaired surrogates" : undefined;
}

/** Returns the text for a rejected value in an error message: a number itself, otherwise only the type. */
export function shown(value: unknown): string {
  return typeof value === "number" ? String(value) : value === null ? "null" : typeof value;
}
