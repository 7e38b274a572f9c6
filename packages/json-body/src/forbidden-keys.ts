// Matches an escaped letter of `__proto__`, `constructor` or `prototype`: \u005f is an underscore.
const ESCAPED_LETTER = /\\u00(?:5f|6[35ef]|7[0-59])/i;

/**
 * Returns whether a parsed value has an own key `__proto__`, or a `constructor` with a `prototype`: merging such a
 * value into another object may change every object in the process. Searches the value only if its JSON can contain
 * such a key.
 *
 * @param text the JSON that `value` was parsed from
 */
export function hasForbiddenKey(text: string, value: unknown): boolean {
  return maySpellOne(text) && walk(value);
}

function maySpellOne(text: string): boolean {
  if (text.includes("__proto__")) return true;
  if (text.includes('"constructor"') && text.includes('"prototype"')) return true;
  return text.includes("\\u00") && ESCAPED_LETTER.test(text);
}

function walk(root: unknown): boolean {
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== "object" || value === null) continue;
    if (Array.isArray(value)) {
      for (const entry of value) if (typeof entry === "object") pending.push(entry);
      continue;
    }
    if (Object.hasOwn(value, "__proto__") || isPrototypeCarrier(value)) return true;
    for (const key of Object.keys(value)) pending.push((value as Record<string, unknown>)[key]);
  }
  return false;
}

function isPrototypeCarrier(value: object): boolean {
  if (!Object.hasOwn(value, "constructor")) return false;
  const inner: unknown = value.constructor;
  return typeof inner === "object" && inner !== null && Object.hasOwn(inner, "prototype");
}
