// Functions that find positions in JSON text without parsing it. `depth` is the number of backslashes before a quote
// that opens or closes a string: 0 in the text itself, 1 for JSON inside a string, 3 for JSON inside a string of that
// JSON.

const space = 0x20;
const quoteMark = 0x22;
const backslash = 0x5c;
const literal = /(?:true|false|null)\b/y;
const opening = /^\s*["{[]/;
// The characters between strings: punctuation, numbers, true, false and null.
const between = /^[\s\d{}[\],:.+\-Eaeflnrstu]*$/;
// oxlint-disable-next-line no-control-regex -- JSON escapes them in strings
const control = /[\u0000-\u001f]/;
const escape = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y;

/**
 * Returns the position after the closing quote of the string that opens at `at`, or the end of the text if the string
 * is not closed.
 */
export function stringEnd(text: string, at: number): number {
  return quotedEnd(text, at, 0);
}

/** Does the same as {@link stringEnd} for a string with `depth` backslashes before its quotes. */
export function quotedEnd(text: string, at: number, depth: number): number {
  const from = at + depth + 1;
  for (let i = text.indexOf('"', from); i !== -1; i = text.indexOf('"', i + 1)) {
    let escapes = 0;
    while (i - escapes > from && text.charCodeAt(i - escapes - 1) === backslash) escapes++;
    if (escapes % (2 * (depth + 1)) === depth) return i + 1;
    // A quote with fewer backslashes ends the enclosing string.
    if (escapes % 2 === 0) return i;
  }
  return text.length;
}

/**
 * Returns the end of the value that starts at `at`, or `at` when the value is not secret. true, false and null are not
 * secret, nor are numbers under a plural name, which are counts.
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

/** Returns the position of the first character at or after `at` that is not white space. */
export function skipSpace(text: string, at: number): number {
  let i = at;
  while (i < text.length && text.charCodeAt(i) <= space) i++;
  return i;
}

/** Returns whether a colon precedes `at`, so that the string there is the value of a member. */
export function followsColon(text: string, at: number): boolean {
  let i = at - 1;
  while (i >= 0 && text.charCodeAt(i) <= space) i--;
  return text[i] === ":";
}

/**
 * Returns whether a string consists of JSON strings and the characters that JSON allows between them: one or more JSON
 * documents, or the beginning of one. Does not parse, because failed parses of strings that only look like JSON would be
 * expensive.
 */
export function isJson(text: string): boolean {
  if (!opening.test(text)) return false;
  let from = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', from)) {
    if (!between.test(text.slice(from, at))) return false;
    from = stringEnd(text, at);
    if (!isInString(text.slice(at + 1, from - 1)) || from < at + 2) return false;
  }
  return between.test(text.slice(from));
}

function isInString(raw: string): boolean {
  if (control.test(raw)) return false;
  for (let at = raw.indexOf("\\"); at !== -1; at = raw.indexOf("\\", at + 2)) {
    escape.lastIndex = at;
    if (!escape.test(raw)) return false;
  }
  return true;
}

/** Returns the first position from `at` with a character that `ends` accepts, or the end of the text. */
export function scan(text: string, at: number, ends: (code: number) => boolean): number {
  let i = at;
  while (i < text.length && !ends(text.charCodeAt(i))) i++;
  return i;
}

/** Returns the position of the next white space, double quote or `&`, or the end of the text. */
export function runEnd(text: string, at: number): number {
  return scan(text, at, (code) => code <= space || code === quoteMark || code === 0x26);
}

/** Returns the end of the line of text that contains `at`. */
export function textEnd(text: string, at: number): number {
  return scan(text, at, (code) => code === 0x0a || code === 0x0d);
}
