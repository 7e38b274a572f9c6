// Positions in JSON text, found without parsing it. `depth` is the number of backslashes before a quote that
// delimits: 0 in the text itself, 1 for JSON inside one of its strings, 3 for JSON inside a string of that.

const space = 0x20;
const quoteMark = 0x22;
const backslash = 0x5c;
const literal = /(?:true|false|null)\b/y;

/** Returns where the string that opens at `at` ends, its closing quote included; the text's end if it has none. */
export function stringEnd(text: string, at: number): number {
  return quotedEnd(text, at, 0);
}

/** Like {@link stringEnd}, for a string whose quotes stand behind `depth` backslashes. */
export function quotedEnd(text: string, at: number, depth: number): number {
  const from = at + depth + 1;
  for (let i = text.indexOf('"', from); i !== -1; i = text.indexOf('"', i + 1)) {
    let escapes = 0;
    while (i - escapes > from && text.charCodeAt(i - escapes - 1) === backslash) escapes++;
    if (escapes % (2 * (depth + 1)) === depth) return i + 1;
    // A bare quote ends the string around this one.
    if (escapes % 2 === 0) return i;
  }
  return text.length;
}

/**
 * Returns where the value that starts at `at` ends, or `at` when it is no secret: true, false and null, and
 * numbers under a name in the plural, which are counts.
 */
export function valueEnd(text: string, at: number, plural: boolean): number {
  literal.lastIndex = at;
  if (literal.test(text)) return at;
  const char = text[at];
  if (char === "{" || char === "[") return bracketEnd(text, at);
  if (char === '"') return stringEnd(text, at);
  if (plural) return at;
  let end = at;
  while (end < text.length && text.charCodeAt(end) > space && !",}]\"\\'".includes(text[end]!)) end++;
  return end;
}

function bracketEnd(text: string, at: number): number {
  let open = 0;
  let i = at;
  while (i < text.length) {
    const char = text[i];
    if (char === '"') {
      i = stringEnd(text, i);
      continue;
    }
    i++;
    if (char === "{" || char === "[") open++;
    else if ((char === "}" || char === "]") && --open === 0) return i;
  }
  return i;
}

/** Returns the position of the first character at or behind `at` that is not white space. */
export function skipSpace(text: string, at: number): number {
  let i = at;
  while (i < text.length && text.charCodeAt(i) <= space) i++;
  return i;
}

/** Tells whether a colon stands before `at`: the string there is then the value of a member. */
export function followsColon(text: string, at: number): boolean {
  let i = at - 1;
  while (i >= 0 && text.charCodeAt(i) <= space) i--;
  return text[i] === ":";
}

/** Tells whether a text is JSON as a whole, and no number or literal. */
export function isJson(text: string): boolean {
  const trimmed = text.trim();
  const ends = trimmed.charAt(0) + trimmed.charAt(trimmed.length - 1);
  // A failed parse costs some microseconds.
  if (ends !== "{}" && ends !== "[]" && ends !== '""') return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the first position from `at` on whose character `ends` accepts, or the text's end. */
export function scan(text: string, at: number, ends: (code: number) => boolean): number {
  let i = at;
  while (i < text.length && !ends(text.charCodeAt(i))) i++;
  return i;
}

/** Returns where the run of characters ends that goes on without white space, a double quote or `&`. */
export function runEnd(text: string, at: number): number {
  return scan(text, at, (code) => code <= space || code === quoteMark || code === 0x26);
}

/** Returns where the line of text ends that `at` is in. */
export function textEnd(text: string, at: number): number {
  return scan(text, at, (code) => code < space);
}
