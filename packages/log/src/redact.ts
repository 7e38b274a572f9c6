import { quotedEnd, runEnd, scan, textEnd, valueEnd } from "./json-scan.ts";
import { withoutUserInfo } from "./user-info.ts";

/** What stands in a line where a secret would. */
export const censor = "[redacted]";

// Every name also covers longer ones that end in it: `x-api-key`, `dbPassword`, `refresh_token`.
const alwaysSecret = [
  "authorization",
  "cookies?",
  "tokens?",
  "passw(?:or)?ds?",
  "password[-_]?(?:hash|confirm(?:ation)?)",
  "passphrases?",
  "pwd",
  "secrets?",
  "api[-_]?keys?",
  "(?:private|secret|signing|access|encryption)[-_]?keys?",
  "credentials?",
];

// A literal part of every secret: finding it costs a third of what finding all names does.
// prettier-ignore
const hints = [
  "authorization", "cookie", "token", "passw", "passphrase", "pwd", "secret", "key", "credential", ":\\/\\/",
  "bearer", "basic", "eyj",
];

const bearer = /\b(bearer|basic)((?: |%20|\+){1,4})(?=[A-Za-z-]{0,4096}[0-9._~+/=])[\w.~+/=-]{8,}/gi;
const jsonWebToken = /(?<![\w-])eyJ[\w-]{10,}\.[\w-]+(?:\.[\w-]*)*/g;
// A list of raw headers alternates names and values.
const headerInList = /"(?:(?:proxy-|set-)?(?:authorization|cookie)|x-[a-z-]{1,60})$/i;
const longestHeader = 64;

/**
 * Makes the function that takes secrets out of a finished line or a plain text: the values of secret names at any
 * depth, also in JSON or `name=value` pairs inside of a string, bearer tokens, JWTs, and the user-info of URLs.
 * Works on the finished text, so that no serialiser, child logger or error can get past it. Its time grows
 * linearly with the text, and one that holds nothing suspicious pays for one scan.
 */
export function createRedactor(more: readonly string[]): (text: string) => string {
  const extra = more.map((name) => name.replaceAll(/[-_]/g, "").split("").map(escapeChar).join("[-_]?"));
  const names = [...alwaysSecret, ...extra].join("|");
  const suspicious = new RegExp([...hints, ...extra].join("|"), "i");
  // After a name: the quote that closes a member's name (1: its escapes, 2: what follows), or plain text (3).
  const named = new RegExp(`(?:${names})(?:(\\\\*)"\\s*([:,])\\s*|'?\\s*([:=])\\s*)`, "gi");
  return function redact(text) {
    if (!suspicious.test(text)) return text;
    let clean = withoutNamed(text, named);
    if (clean.includes("://")) clean = withoutUserInfo(clean, censor);
    return clean.replace(bearer, `$1$2${censor}`).replace(jsonWebToken, censor);
  };
}

function escapeChar(char: string): string {
  return char === "." ? "\\." : char;
}

function withoutNamed(text: string, named: RegExp): string {
  let clean = "";
  let copied = 0;
  named.lastIndex = 0;
  for (let match = named.exec(text); match !== null; match = named.exec(text)) {
    const at = named.lastIndex;
    const quotes = quotesAt(text, at);
    const end = match[1] === undefined ? endInText(text, match, at, quotes) : endOfMember(text, match, at);
    if (end <= at) continue;
    // A quoted value and any value of a member become a string; of plain text only the text is replaced.
    const around = quotes ?? (match[1] === undefined ? "" : delimiter(depthOf(match[1])));
    clean += `${text.slice(copied, at)}${around}${censor}${around}`;
    copied = named.lastIndex = end;
  }
  return copied === 0 ? text : clean + text.slice(copied);
}

function endOfMember(text: string, match: RegExpExecArray, at: number): number {
  const [whole, escapes = "", separator] = match;
  if (separator === ":") return valueEnd(text, at, depthOf(escapes), isPlural(whole));
  const nameEnd = match.index + whole.indexOf('"') - escapes.length;
  const isHeader = headerInList.test(text.slice(Math.max(0, match.index - longestHeader), nameEnd));
  return isHeader && text[at] === '"' ? quotedEnd(text, at, 0) : at;
}

function endInText(text: string, match: RegExpExecArray, at: number, quotes: string | undefined): number {
  const [whole, , , separator] = match;
  if (quotes === "'") return apostropheEnd(text, at);
  if (quotes !== undefined) return quotedEnd(text, at, quotes.length - 1);
  const name = whole.toLowerCase();
  if (separator === ":" && name.startsWith("cookie")) return textEnd(text, at);
  if (separator === ":" && name.startsWith("authorization")) return credentialsEnd(text, at);
  // "invalid token: it has expired" is a sentence; token=abc is not.
  if (separator === ":") return at;
  const end = runEnd(text, at);
  return isPlural(whole) && /^\d+$/.test(text.slice(at, end)) ? at : end;
}

// An even number of backslashes before a quote is text; the quote itself is then the line's own.
function depthOf(escapes: string): number {
  return escapes.length % 2 === 0 ? 0 : escapes.length;
}

function delimiter(depth: number): string {
  return `${"\\".repeat(depth)}"`;
}

function isPlural(name: string): boolean {
  return /^[a-z_-]*s\W/i.test(name);
}

// A scheme and what follows it.
function credentialsEnd(text: string, at: number): number {
  const end = runEnd(text, at);
  return text[end] === " " ? runEnd(text, end + 1) : end;
}

function quotesAt(text: string, at: number): string | undefined {
  if (text[at] === "'") return "'";
  let end = at;
  while (text[end] === "\\") end++;
  return text[end] === '"' && (end - at) % 2 === 1 ? text.slice(at, end + 1) : undefined;
}

function apostropheEnd(text: string, at: number): number {
  const end = scan(text, at + 1, (code) => code === 0x27, "nr");
  return text[end] === "'" ? end + 1 : end;
}
