import { type Description, isRecord } from "./description.ts";

/** Maximum length of a chain of references. */
const MOST_HOPS = 32;

/**
 * Returns an object of the description, and follows references to other parts of it.
 *
 * @returns undefined if the value is not an object, or a reference is broken, cyclic or points to another document
 */
export function resolve(description: Description, value: unknown): Description | undefined {
  let current = value;
  for (let hops = 0; hops < MOST_HOPS && isRecord(current); hops++) {
    const { $ref } = current;
    if (typeof $ref !== "string") return current;
    current = at(description, $ref);
  }
  return undefined;
}

/** Returns the part of the description that a JSON pointer such as `#/components/schemas/Expense` names. */
function at(description: Description, reference: string): unknown {
  if (!reference.startsWith("#/")) return undefined;
  let current: unknown = description;
  for (const part of reference.slice(2).split("/")) {
    const name = unescape(part);
    if (name === undefined || typeof current !== "object" || current === null) return undefined;
    if (!Object.hasOwn(current, name)) return undefined;
    current = (current as Record<string, unknown>)[name];
  }
  return current;
}

function unescape(part: string): string | undefined {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return undefined;
  }
}
