const MAX_DEPTH = 8;
const MAX_ENTRIES = 100;
/** The longest text that a problem repeats of what a client sent (ERR-17), in UTF-16 code units. */
export const MAX_TEXT = 512;

/**
 * A copy of any value that `JSON.stringify` takes: bounded in depth, entries and text length, without cycles; what
 * cannot be shown is named in angle brackets. Runs no code of the value other than its getters, and survives those.
 */
export function jsonSafe(value: unknown, depth = 0): unknown {
  switch (typeof value) {
    case "string":
      return cut(value);
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "boolean":
      return value;
    case "undefined":
      return null;
    case "bigint":
      return cut(value.toString());
    case "object":
      return value === null ? null : safeObject(value, depth);
    default:
      return `<${typeof value}>`;
  }
}

function safeObject(value: object, depth: number): unknown {
  try {
    if (value instanceof Uint8Array) return safeBytes(value);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? "<invalid date>" : value.toISOString();
    if (depth >= MAX_DEPTH) return "<too deep>";
    if (Array.isArray(value)) {
      return value.slice(0, MAX_ENTRIES).map((entry: unknown) => jsonSafe(entry, depth + 1));
    }
    const copy: Record<string, unknown> = {};
    for (const key of Object.keys(value).slice(0, MAX_ENTRIES)) {
      if (key !== "__proto__") copy[cut(key)] = safeMember(value, key, depth);
    }
    return copy;
  } catch {
    return "<unreadable>";
  }
}

function safeMember(holder: object, key: string, depth: number): unknown {
  try {
    return jsonSafe((holder as Record<string, unknown>)[key], depth + 1);
  } catch {
    return "<unreadable>";
  }
}

function safeBytes(bytes: Uint8Array): string {
  try {
    return cut(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, 4 * MAX_TEXT)));
  } catch {
    return `<${bytes.length} bytes>`;
  }
}

/** Cuts a text without splitting a pair of surrogates. */
export function cut(text: string, max: number = MAX_TEXT): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max);
}

/** `value` as it may stand in a problem: JSON-safe, and as text when its JSON is longer than the limit (ERR-17). */
export function safeInput(value: unknown): unknown {
  const safe = jsonSafe(value);
  if (typeof safe !== "object" || safe === null) return safe;
  const text = JSON.stringify(safe);
  return text.length <= MAX_TEXT ? safe : cut(text);
}
