const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Whether JSON nests deeper than `maxDepth`. One pass over the bytes, before anything is parsed: `JSON.parse` takes
 * depths at which `JSON.stringify`, and most code that walks the value, runs out of stack.
 */
export function isDeeperThan(json: Uint8Array, maxDepth: number): boolean {
  // Every level needs its two brackets; what lacks some of them is not valid anyway.
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
