import { followsColon, isJson, skipSpace, stringEnd, valueEnd } from "./json-scan.ts";
import { escapeUnseen, quote } from "./quote.ts";
import { censor, redactText } from "./redact-text.ts";
import { secretNames } from "./secret-names.ts";

// A secret in a string contains another character, such as a separator after its name or the dots of a token. JSON does
// not escape these characters.
const harmless = /^[\w/-]*$/;

/** The functions of {@link createRedactor}. */
export type Redactor = ReturnType<typeof createRedactor>;

/**
 * Returns the redaction functions. They redact values of secret names at any depth, values after a secret header in a list,
 * and in strings: `name=value` pairs, bearer tokens, JWTs and URL credentials. `more` adds to the names that are always
 * redacted. The functions take linear time; a line without a hint of a secret costs one scan.
 */
export function createRedactor(more: readonly string[]) {
  const names = secretNames(more);

  /** Redacts a string that contains a hint of a secret. */
  function suspicious(plain: string): string {
    return isJson(plain) ? json(plain, 0) : redactText(plain, names.named);
  }

  /** Redacts JSON; `hint` is the position of its first hint of a secret. */
  function json(document: string, hint: number): string {
    let clean = "";
    let copied = 0;
    let renamed = 0;
    let at = document.indexOf('"');

    function replace(from: number, to: number, by: string): void {
      clean += document.slice(copied, from) + by;
      copied = to;
    }

    function redactMember(end: number, colon: number): number {
      const name = unquoted(document, at, end);
      const cleanName = suspicious(name);
      // The number distinguishes names that differ only in their secrets.
      if (cleanName !== name) replace(at, end, quote(`${cleanName} (${++renamed})`));
      return names.isSecret(name) ? redactValue(skipSpace(document, colon + 1), end, /s$/i.test(name)) : end;
    }

    function redactString(end: number): void {
      const value = unquoted(document, at, end);
      const cleanValue = suspicious(value);
      if (cleanValue !== value) replace(at, end, quote(cleanValue));
    }

    function redactValue(start: number, otherwise: number, plural: boolean): number {
      const end = valueEnd(document, start, plural);
      if (end === start) return otherwise;
      replace(start, end, `"${censor}"`);
      return end;
    }

    /** Redacts the list element after the header name between `start` and `end`, and returns the end of the element. */
    function redactAfterHeader(start: number, end: number): number {
      let [from, to] = [start, end];
      // The redacted element may itself be the name of a secret header: ["vary", "cookie", "cookie", "sid=1"].
      while (document[from] === '"' && names.isHeader(document.slice(from + 1, to - 1))) {
        const comma = skipSpace(document, to);
        if (document[comma] !== ",") break;
        from = skipSpace(document, comma + 1);
        to = redactValue(from, from, false);
      }
      return Math.max(to, end);
    }

    // A string before a colon is a name, a string after a colon is a value; other strings are list elements.
    let next = hint;
    while (at !== -1 && next !== -1) {
      let end = stringEnd(document, at);
      if (next < end) {
        const behind = skipSpace(document, end);
        if (document[behind] === ":") end = redactMember(end, behind);
        else {
          redactString(end);
          if (!followsColon(document, at)) end = redactAfterHeader(at, end);
        }
        next = names.nextHint(document, end);
      }
      at = document.indexOf('"', end);
    }
    return copied === 0 ? document : clean + document.slice(copied);
  }

  return {
    /**
     * Redacts a finished JSON line, or some of its members, including the output of serializers, child loggers and errors,
     * and escapes the characters that terminals and line splitters interpret. The result has the same members; only a name
     * that itself contains a secret is replaced (LOG-1, LOG-2).
     */
    line: (line: string): string => {
      const escaped = escapeUnseen(line);
      const hint = names.nextHint(escaped, 0);
      return hint === -1 ? escaped : json(escaped, hint);
    },
    /** Returns a string as the JSON that `line()` makes of a member with this value. */
    quote: (text: string): string => {
      if (harmless.test(text)) return `"${text}"`;
      return quote(names.nextHint(text, 0) === -1 ? text : suspicious(text));
    },
    /** Returns whether a member with this name has a secret value. */
    isSecret: names.isSecret,
  };
}

function unquoted(document: string, at: number, end: number): string {
  const raw = document.slice(at + 1, end - 1);
  return raw.includes("\\") ? (JSON.parse(`"${raw}"`) as string) : raw;
}
