const MAX_DEPTH = 8;
const MAX_ENTRIES = 100;
// A limit for all objects together, because an object is copied once for each reference to it.
const MAX_VALUES = 2_000;
/** The longest client-supplied string that a problem repeats, in UTF-16 code units (ERR-17). */
export const MAX_TEXT = 512;

/**
 * Copies any value into one that `JSON.stringify` accepts: without cycles, and limited in depth, entries, text length
 * and size. Placeholders in angle brackets replace what cannot be shown. Runs no code of the value except getters, and
 * catches their errors.
 */
export function jsonSafe(value: unknown): unknown {
  return copy(value, 0, { left: MAX_VALUES });
}

interface Budget {
  left: number;
}

function copy(value: unknown, depth: number, budget: Budget): unknown {
  if (budget.left-- <= 0) return "<too large>";
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
      return value === null ? null : safeObject(value, depth, budget);
    default:
      return `<${typeof value}>`;
  }
}

function safeObject(value: object, depth: number, budget: Budget): unknown {
  try {
    if (value instanceof Uint8Array) return safeBytes(value);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? "<invalid date>" : value.toISOString();
    if (depth >= MAX_DEPTH) return "<too deep>";
    if (Array.isArray(value)) {
      return value.slice(0, MAX_ENTRIES).map((entry: unknown) => copy(entry, depth + 1, budget));
    }
    const copied: Record<string, unknown> = {};
    for (const key of Object.keys(value).slice(0, MAX_ENTRIES)) {
      if (key !== "__proto__") copied[cut(key)] = safeMember(value, key, depth, budget);
    }
    return copied;
  } catch {
    return "<unreadable>";
  }
}

function safeMember(holder: object, key: string, depth: number, budget: Budget): unknown {
  try {
    return copy((holder as Record<string, unknown>)[key], depth + 1, budget);
  } catch {
    return "<unreadable>";
  }
}

function safeBytes(bytes: Uint8Array): string {
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true });
    // The limit may split a character, which only a stream accepts.
    return cut(decoder.decode(bytes.subarray(0, 4 * MAX_TEXT), { stream: bytes.length > 4 * MAX_TEXT }));
  } catch {
    return `<${bytes.length} bytes>`;
  }
}

/** Truncates a string without splitting a surrogate pair. */
export function cut(text: string, max: number = MAX_TEXT): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max);
}

/** Returns a JSON-safe `value` for a problem, or a truncated string if its JSON exceeds the limit (ERR-17). */
export function safeInput(value: unknown): unknown {
  const safe = jsonSafe(value);
  if (typeof safe !== "object" || safe === null) return safe;
  const text = JSON.stringify(safe);
  return text.length <= MAX_TEXT ? safe : cut(text);
}
