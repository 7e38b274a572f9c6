const MAX_LENGTH = 120;
const MAX_ENTRIES = 10;

/**
 * Returns a value as one short line for an error message. An object appears only as its class name, because a member may be
 * a password. User-info in a URL is masked.
 */
export function show(value: unknown): string {
  const text = Array.isArray(value) ? list(value) : single(value);
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 3)}...` : text;
}

/** Returns the type of a value in words, without the value. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return anObject(value);
  return `a ${typeof value}`;
}

function list(entries: readonly unknown[]): string {
  const shown = entries.slice(0, MAX_ENTRIES).map(single);
  if (entries.length > MAX_ENTRIES) shown.push(`... ${entries.length} in all`);
  return `[${shown.join(", ")}]`;
}

function single(value: unknown): string {
  if (typeof value === "string") return oneLine(JSON.stringify(masked(value).slice(0, 2 * MAX_LENGTH)));
  if (typeof value === "symbol") return oneLine(String(value));
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return `${value}`;
  return describe(value);
}

// A password may contain any character, so mask everything up to the last @.
function masked(text: string): string {
  return text.replace(/\/\/\S*@/g, "//***@");
}

function anObject(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return "an object";
  const name: unknown = (prototype as { constructor?: { name?: unknown } }).constructor?.name;
  return typeof name === "string" && /^[A-Za-z_$][\w$]{0,40}$/.test(name)
    ? `an object (${name})`
    : "an object";
}

/** Returns the name and message of an error for a fault, with user-info of URLs masked. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return `it threw ${describe(error)}`;
  const text = masked(error.message);
  return `${error.name}: ${text.length > 4 * MAX_LENGTH ? `${text.slice(0, 4 * MAX_LENGTH)}...` : text}`;
}

/** Escapes the characters that would break a line or move the cursor of a terminal. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, (char) => {
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
