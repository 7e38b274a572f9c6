const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Returns whether JSON is nested deeper than `maxDepth`, determined in one pass over the bytes before parsing.
 * `JSON.parse` accepts depths at which `JSON.stringify` and most recursive code exceed the stack.
 */
export function isDeeperThan(json: Uint8Array, maxDepth: number): boolean {
  // Every level needs two brackets; JSON without them is invalid anyway.
  if (json.length < 2 * (maxDepth + 1)) return false;
  let depth = 0;
  const end = json.length;
  for (let i = 0; i < end; i += 1) {
    const byte = json[i];
    if (byte === QUOTE) {
      i += 1;
      while (i < end && json[i] !== QUOTE) i += json[i] === BACKSLASH ? 2 : 1;
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      depth -= 1;
    }
  }
  return false;
}
