// Positions inside a line of JSON, found without parsing it. `depth` is the number of backslashes before a quote
// that delimits: 0 for the line's own strings, 1 for JSON inside of a string, 3 for JSON inside of that.

const space = 0x20;
const quoteMark = 0x22;
const backslash = 0x5c;
const literal = /(?:true|false|null)\b/y;

/** Where the string that opens at `at` ends, its closing quote included; never past the line's own string. */
export function quotedEnd(text: string, at: number, depth: number): number {
  return closing(text, at + depth + 1, depth);
}

function closing(text: string, from: number, depth: number): number {
  for (let i = text.indexOf('"', from); i !== -1; i = text.indexOf('"', i + 1)) {
    let escapes = 0;
    while (i - escapes > from && text.charCodeAt(i - escapes - 1) === backslash) escapes++;
    if (escapes % (2 * (depth + 1)) === depth) return i + 1;
    if (escapes % 2 === 0) return i;
  }
  return text.length;
}

/** Where the line's own string ends that `at` is in. */
export function stringEnd(text: string, at: number): number {
  const end = closing(text, at, 0);
  return text.charCodeAt(end - 1) === quoteMark ? end - 1 : end;
}

/**
 * Where the value of a member ends. true, false and null are no secrets (the result is `at`), nor are numbers
 * under a name in the plural, which are counts.
 */
export function valueEnd(text: string, at: number, depth: number, plural: boolean): number {
  literal.lastIndex = at;
  if (literal.test(text)) return at;
  const char = text[at];
  if (char === "{" || char === "[") return depth === 0 ? bracketEnd(text, at) : stringEnd(text, at);
  if (text.startsWith(`${"\\".repeat(depth)}"`, at)) return quotedEnd(text, at, depth);
  let end = at;
  while (end < text.length && !',}]"\\ '.includes(text[end]!)) end++;
  return plural ? at : end;
}

function bracketEnd(text: string, at: number): number {
  let open = 0;
  let i = at;
  while (i < text.length) {
    const char = text[i];
    if (char === '"') {
      i = quotedEnd(text, i, 0);
      continue;
    }
    i++;
    if (char === "{" || char === "[") open++;
    else if ((char === "}" || char === "]") && --open === 0) return i;
  }
  return i;
}

/** Where the words end that go on without white space, a quote or `&`. */
export function runEnd(text: string, at: number): number {
  return scan(text, at, (code) => code <= space || code === 0x26);
}

/** Where the line of text ends that `at` is in. */
export function textEnd(text: string, at: number): number {
  return scan(text, at, (code) => code < space, "nr");
}

/** Goes on to what `ends` names, to a quote, or to one of the escapes that stand for white space and quotes. */
export function scan(text: string, at: number, ends: (code: number) => boolean, escapes = 'nrtfbu"'): number {
  let i = at;
  while (i < text.length) {
    const code = text.charCodeAt(i);
    if (code === quoteMark || ends(code)) break;
    if (code !== backslash) i++;
    else if (i + 1 < text.length && escapes.includes(text[i + 1]!)) break;
    else i += 2;
  }
  return Math.min(i, text.length);
}
