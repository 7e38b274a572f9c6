const MAX_LENGTH = 200;
const SETTING = /\b(password|passwd|pwd|secret|token|api[-_]?key)(["']?\s?[=:]\s?)(?:"[^"]*"|'[^']*'|\S+)/gi;

/**
 * Makes a text fit to be shown to anybody: user-info and query of every URL cut out, values of password-like
 * settings masked, control and direction characters made blanks, at most 200 characters.
 */
export function safeText(text: string): string {
  const shown = text
    .replaceAll(/\S+/g, withoutUrlSecrets)
    .replaceAll(SETTING, "$1$2***")
    .replaceAll(/[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu, " ")
    .trim();
  // Not in the middle of a character that takes two code units.
  return shown.length <= MAX_LENGTH ? shown : shown.slice(0, MAX_LENGTH).replace(/[\ud800-\udbff]$/, "");
}

const SECRET_NAME = /(?:password|passwd|pwd|secret|token|api[-_]?key)s?$/i;

/** The same for the value of a member, which is masked where its name says that it is a password or the like. */
export function safeMember(name: string, value: string): string {
  return SECRET_NAME.test(name) ? "***" : safeText(value);
}

// By the last @, because a password that nobody escaped may hold any of / ? # and @ itself.
function withoutUrlSecrets(word: string): string {
  const scheme = word.indexOf("://");
  const at = word.lastIndexOf("@");
  if (scheme === -1) {
    const colon = word.indexOf(":");
    return colon !== -1 && colon < at ? word.slice(at + 1) : word;
  }
  const rest = word.slice(Math.max(scheme + 3, at + 1));
  const query = rest.search(/[?#]/);
  return word.slice(0, scheme + 3) + (query === -1 ? rest : rest.slice(0, query));
}

/** The class of what was thrown, never its message: that is where drivers put hosts, names and statements. */
export function classOf(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null) return typeof thrown;
  let name: unknown;
  try {
    name = thrown.constructor.name;
  } catch {
    name = undefined;
  }
  return typeof name === "string" && /^[A-Za-z_$][\w$]{0,63}$/.test(name) ? name : "Error";
}

/** The code of a system or driver error, `ECONNREFUSED` or `57P03`, when it looks like one. */
export function codeOf(thrown: unknown): string | undefined {
  try {
    if (!(thrown instanceof Error) || !("code" in thrown)) return undefined;
    const { code } = thrown;
    return typeof code === "string" && /^[A-Z0-9_]{1,40}$/.test(code) ? code : undefined;
  } catch {
    // A getter that throws, a revoked proxy.
    return undefined;
  }
}
