/** `space` is white space or a comment, `quoted` an identifier in double quotes, and `symbol` one other character. */
export type TokenKind = "space" | "word" | "quoted" | "literal" | "parameter" | "symbol";

export interface Token {
  readonly kind: TokenKind;
  readonly start: number;
  readonly end: number;
}

/**
 * Splits an SQL text into tokens as PostgreSQL does, in linear time. An unterminated quoted token is a literal. After a
 * token that servers read differently, the rest of the text is one literal.
 */
export function* statementTokens(text: string): Generator<Token, void> {
  for (let start = 0; start < text.length;) {
    const token = tokenAt(text, start);
    yield token;
    start = token.end;
  }
}

function tokenAt(text: string, start: number): Token {
  const first = classAt(text, start);
  if (first === SPACE) return { kind: "space", start, end: endOfRun(text, start, SPACE) };
  if (first === LETTER) return wordAt(text, start);
  if (first === DIGIT) return { kind: "literal", start, end: endOfNumber(text, start) };
  const next = text[start + 1];
  switch (text[start]) {
    case "'":
      return { kind: "literal", start, end: endOfString(text, start + 1) };
    case '"':
      return quotedAt(text, start);
    case "$":
      return dollarAt(text, start);
    case "-":
      if (next === "-") return { kind: "space", start, end: endOfLine(text, start) };
      break;
    case "/":
      if (next === "*") return { kind: "space", start, end: endOfComment(text, start) };
      break;
    case ".":
      if (classAt(text, start + 1) === DIGIT)
        return { kind: "literal", start, end: endOfNumber(text, start) };
  }
  return { kind: "symbol", start, end: start + 1 };
}

/** Reads a word, or a string with a prefix such as `E'…'` or `X'…'`. */
function wordAt(text: string, start: number): Token {
  const end = endOfRun(text, start, LETTER | DIGIT | DOLLAR);
  const word = end === start + 1 && text[end] === "'" ? text.charAt(start).toLowerCase() : "";
  if (word === "e") return { kind: "literal", start, end: endOfEscaped(text, end + 1) };
  if (word === "b" || word === "x" || word === "n") {
    return { kind: "literal", start, end: endOfString(text, end + 1) };
  }
  return { kind: "word", start, end };
}

function quotedAt(text: string, start: number): Token {
  const end = endOfQuoted(text, start + 1, '"');
  if (end === undefined) return { kind: "literal", start, end: text.length };
  return { kind: "quoted", start, end };
}

/** Reads a parameter such as `$1`, or a string such as `$tag$…$tag$`. */
function dollarAt(text: string, start: number): Token {
  const first = classAt(text, start + 1);
  if (first === DIGIT) return { kind: "parameter", start, end: endOfRun(text, start + 1, DIGIT) };
  const tagEnd = first === LETTER ? endOfRun(text, start + 1, LETTER | DIGIT) : start + 1;
  if (text[tagEnd] !== "$") return { kind: "symbol", start, end: start + 1 };
  const tag = text.slice(start, tagEnd + 1);
  const close = text.indexOf(tag, tagEnd + 1);
  return { kind: "literal", start, end: close < 0 ? text.length : close + tag.length };
}

function endOfLine(text: string, start: number): number {
  let at = start;
  while (at < text.length && text[at] !== "\n" && text[at] !== "\r") at += 1;
  return at;
}

/** Returns the end of a comment, in which others may be nested. */
function endOfComment(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    if (text[at] === "/" && text[at + 1] === "*") depth += 1;
    else if (text[at] === "*" && text[at + 1] === "/") depth -= 1;
    else continue;
    at += 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

function endOfQuoted(text: string, from: number, quote: string): number | undefined {
  for (let at = text.indexOf(quote, from); at >= 0; at = text.indexOf(quote, at + 2)) {
    if (text[at + 1] !== quote) return at + 1;
  }
  return undefined;
}

function endOfString(text: string, from: number): number {
  const end = endOfQuoted(text, from, "'") ?? text.length;
  // Without `standard_conforming_strings`, a quote after a backslash does not end the string.
  return text.slice(from, end).includes("\\'") ? text.length : end;
}

function endOfEscaped(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === "'" && text[at + 1] !== "'") return at + 1;
    if (text[at] === "\\" || text[at] === "'") at += 1;
  }
  return text.length;
}

/** Returns the end of a number, with the letters that follow its digits, as in `0xff`, `1e-3` and malformed numbers. */
function endOfNumber(text: string, start: number): number {
  let at = endOfRun(text, start, LETTER | DIGIT);
  while (text[at] === "." || isExponentSign(text, at)) at = endOfRun(text, at + 1, LETTER | DIGIT);
  // Whether a dollar sign here starts a string depends on the server's version.
  return text[at] === "$" ? text.length : at;
}

function isExponentSign(text: string, at: number): boolean {
  return (text[at] === "+" || text[at] === "-") && (text[at - 1] === "e" || text[at - 1] === "E");
}

/** Returns the end of a run of characters that belong to these classes. */
function endOfRun(text: string, from: number, classes: number): number {
  let at = from;
  while ((classAt(text, at) & classes) !== 0) at += 1;
  return at;
}

const SPACE = 1;
const LETTER = 2;
const DIGIT = 4;
const DOLLAR = 8;
const ASCII = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[ \t-\r]/.test(character)) return SPACE;
  if (/[A-Za-z_]/.test(character)) return LETTER;
  if (/[0-9]/.test(character)) return DIGIT;
  return character === "$" ? DOLLAR : 0;
});

/** Returns the class of a character. PostgreSQL treats all characters outside ASCII as letters. */
function classAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 128 ? LETTER : (ASCII[code] ?? 0);
}
