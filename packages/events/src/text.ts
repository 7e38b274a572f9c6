const TYPE = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/;
const CONTROL = /[\p{Cc}\p{Surrogate}]/u;
// JSON escapes that jsonb rejects: NUL and lone surrogates. After an odd number of backslashes, `\u` is plain text, not
// an escape.
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/;

/** Default maximum length of a text, such as an id, a key or a source, in characters. */
export const MAX_TEXT = 255;

/** Maximum length of an event type, in characters. */
export const MAX_TYPE = 200;

/** Returns whether a value is a valid type for a published event. */
export function isType(value: unknown): boolean {
  return typeof value === "string" && value.length <= MAX_TYPE && TYPE.test(value);
}

/**
 * Returns whether every store and broker accepts the value: a string of 1 to `max` characters without control
 * characters and lone surrogates.
 */
export function isText(value: unknown, max: number = MAX_TEXT): value is string {
  return typeof value === "string" && value !== "" && value.length <= max && !CONTROL.test(value);
}

/** Returns whether PostgreSQL can store this output of `JSON.stringify` as jsonb. */
export function isStorable(json: string): boolean {
  return !json.includes("\\u") || !UNSTORABLE.test(json);
}

/** Describes a value for an error message, without quoting a string. */
export function shown(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (value === undefined || value === null) return `${value}`;
  if (typeof value === "object") return "an object";
  return typeof value === "number" || typeof value === "boolean" ? String(value) : `a ${typeof value}`;
}
