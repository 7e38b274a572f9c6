/** Formats a value for a message: short, on one line, without tokens. */
export function show(value: unknown): string {
  const text = value === undefined ? "nothing" : (JSON.stringify(value) ?? typeof value);
  return short(text);
}

// Matches three base64url segments, to hide a token that the service echoes.
const token = /\b[\w-]{10,}\.[\w-]{10,}\.[\w-]*/g;

export function short(text: string, longest = 160): string {
  const clean = text
    .replaceAll(token, "<token>")
    // Replace control characters, characters that change the text direction, and characters that XML forbids.
    .replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff]+/gu, " ")
    .toWellFormed();
  return clean.length > longest ? `${clean.slice(0, longest).toWellFormed()}...` : clean;
}

/** Shortens a log line that is not a single JSON object; if it contains two, keeps the start of both. */
export function showLine(text: string): string {
  const end = endOfObject(text);
  if (end === undefined || text.slice(end).trim() === "") return show(text);
  return `more than one object on one line: ${short(text.slice(0, end), each)} followed by ${short(text.slice(end), each)}`;
}

/** Maximum number of characters of each object. */
const each = 240;

/** Returns the index after the JSON object that a string starts with; undefined if it does not start with one. */
function endOfObject(text: string): number | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  let depth = 0;
  for (const { 0: part, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (part === "{") depth++;
    if (part === "}" && --depth === 0) return index + 1;
  }
  return undefined;
}
