import { quotedEnd, runEnd, textEnd, valueEnd } from "./json-scan.ts";
import { withoutUserInfo } from "./user-info.ts";

/** Replacement for a secret in a log record. */
export const censor = "[redacted]";

const bearer = /\b(bearer|basic)((?: |%20|\+){1,4})(?=[A-Za-z-]{0,4096}[0-9._~+/=])[\w.~+/=-]{8,}/gi;
const knownScheme = /(?:basic|bearer|digest|dpop|negotiate|token)[ \t]+/iy;
const anyScheme = /[^\s"&]+[ \t]+/y;
const jsonWebToken = /(?<![\w-])eyJ[\w-]{10,}\.[\w-]+(?:\.[\w-]*)*/g;

/**
 * Redacts a string that is not entirely JSON: values after the names that `named` finds (in `name=value`, `name: 'value'`,
 * header lines and fragments of JSON), URL credentials, bearer tokens and JWTs.
 */
export function redactText(text: string, named: RegExp): string {
  let clean = withoutNamed(text, named);
  if (clean.includes("://")) clean = withoutUserInfo(clean, censor);
  return clean.replace(bearer, `$1$2${censor}`).replace(jsonWebToken, censor);
}

function withoutNamed(text: string, named: RegExp): string {
  let clean = "";
  let copied = 0;
  named.lastIndex = 0;
  for (let match = named.exec(text); match !== null; match = named.exec(text)) {
    const at = named.lastIndex;
    const [whole, escapes, separator] = match;
    const quotes = quotesAt(text, at);
    let end: number;
    if (quotes !== undefined) end = endOfQuoted(text, at, quotes);
    else if (escapes !== undefined) end = endOfMember(text, at, isPlural(whole));
    else end = endInText(text, at, whole, separator);
    if (end <= at) continue;
    // Put quotes around the replacement of a quoted value or of a JSON member; plain text needs none.
    const around = quotes ?? (escapes === undefined ? "" : `${escapes.length % 2 === 0 ? "" : escapes}"`);
    clean += `${text.slice(copied, at)}${around}${censor}${around}`;
    copied = named.lastIndex = end;
  }
  return copied === 0 ? text : clean + text.slice(copied);
}

/** Returns the quote that opens at `at`, with the backslashes before it. */
function quotesAt(text: string, at: number): string | undefined {
  if (text[at] === "'" || text[at] === "`") return text[at];
  let end = at;
  while (text[end] === "\\") end++;
  // A quote after two, four or another even number of backslashes does not open a string.
  return text[end] === '"' && (end === at || (end - at) % 2 === 1) ? text.slice(at, end + 1) : undefined;
}

function endOfQuoted(text: string, at: number, quotes: string): number {
  if (quotes.endsWith('"')) return quotedEnd(text, at, quotes.length - 1);
  for (let i = at + 1; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === quotes) return i + 1;
    else if (text[i] === "\n" && quotes === "'") return i;
  }
  return text.length;
}

function endOfMember(text: string, at: number, plural: boolean): number {
  // In truncated JSON, or JSON inside other text, closing brackets are not reliable, so redact the remaining string.
  return text[at] === "{" || text[at] === "[" ? text.length : valueEnd(text, at, plural);
}

function endInText(text: string, at: number, whole: string, separator: string | undefined): number {
  const name = whole.toLowerCase();
  if (separator === ":" && name.startsWith("cookie")) return textEnd(text, at);
  if (separator === ":" && name.startsWith("authorization")) return credentialsEnd(text, at, anyScheme);
  // Redact nothing after any other name and a colon: "invalid token: it has expired" is a sentence, unlike token=abc.
  if (separator === ":") return at;
  const end = credentialsEnd(text, at, knownScheme);
  return isPlural(whole) && /^\d+$/.test(text.slice(at, end)) ? at : end;
}

function isPlural(name: string): boolean {
  return /^[a-z_-]*s\W/i.test(name);
}

/** Returns the end of credentials, which may begin with an authentication scheme. */
function credentialsEnd(text: string, at: number, scheme: RegExp): number {
  scheme.lastIndex = at;
  return runEnd(text, scheme.test(text) ? scheme.lastIndex : at);
}
