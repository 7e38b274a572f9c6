import { short, show } from "./show.ts";

/** Shortens a log line that is not one JSON object; for two objects it keeps the start of both. */
export function showLine(text: string): string {
  const end = endOfObject(text);
  if (end === undefined || text.slice(end).trim() === "") return show(text);
  return `more than an object on one line: ${short(text.slice(0, end), each)} and behind it ${short(text.slice(end), each)}`;
}

/** Characters of each part. */
const each = 240;

/** Returns the index after the JSON object at the start of a text. */
function endOfObject(text: string): number | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  let depth = 0;
  for (const { 0: part, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (part === "{") depth++;
    if (part === "}" && --depth === 0) return index + 1;
  }
  return undefined;
}
