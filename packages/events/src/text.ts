const CONTROL = /[\p{Cc}\p{Surrogate}]/u;
// What JSON can say and jsonb cannot hold: NUL, and half a surrogate pair. An even number of backslashes is text.
const UNKEPT = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/;

/** The longest id, key, tenant or topic. */
export const MAX_TEXT = 255;

/** Whether a value is a text that every store and broker takes: 1 to 255 characters, none of them a control character. */
export function isText(value: unknown, max: number = MAX_TEXT): value is string {
  return typeof value === "string" && value !== "" && value.length <= max && !CONTROL.test(value);
}

/** Whether JSON, as `JSON.stringify` writes it, can be kept by PostgreSQL. */
export function isKept(json: string): boolean {
  return !json.includes("\\u") || !UNKEPT.test(json);
}

/** What is shown of a value in an error message: never the value of a text. */
export function shown(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (value === undefined || value === null) return `${value}`;
  if (typeof value === "object") return "an object";
  return typeof value === "number" || typeof value === "boolean" ? String(value) : `a ${typeof value}`;
}
