import { short, show } from "./show.ts";

/** A line of a log that is not one JSON object, as a message shows it: of two objects, the start of both. */
export function showLine(text: string): string {
  const end = endOfObject(text);
  if (end === undefined || text.slice(end).trim() === "") return show(text);
  return `more than an object on one line: ${short(text.slice(0, end), each)} and behind it ${short(text.slice(end), each)}`;
}

/** Characters of either part. */
const each = 240;

/** The index behind the object that a text begins with. */
function endOfObject(text: string): number | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  let depth = 0;
  for (const { 0: part, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (part === "{") depth++;
    if (part === "}" && --depth === 0) return index + 1;
  }
  return undefined;
}
