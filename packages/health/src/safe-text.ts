import { isSecretName, secretNamePatterns } from "@svc/context";

const MAX_LENGTH = 200;
// A scheme such as Bearer stands before the secret itself.
const SETTING = new RegExp(
  `(${secretNamePatterns.join("|")})(["']?\\s*[=:]\\s*)(?:"[^"]*"|'[^']*'|(?:bearer|basic)\\s+\\S+|\\S+)`,
  "gi",
);

/**
 * Makes a string safe for every client: removes user-info and query from URLs, masks values of settings such as
 * passwords, replaces control characters and characters that change the text direction with blanks, and truncates the
 * string to 200 characters.
 */
export function safeText(text: string): string {
  const shown = text
    .replaceAll(/\S+/g, withoutUrlSecrets)
    .replaceAll(SETTING, "$1$2***")
    .replaceAll(/[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu, " ")
    .trim();
  // Truncation must not leave half of a surrogate pair.
  return shown.length <= MAX_LENGTH ? shown : shown.slice(0, MAX_LENGTH).replace(/[\ud800-\udbff]$/, "");
}

/** Makes the value of a member safe: hides a string or an object whose name indicates a secret, and cleans other strings. */
export function safeMember(name: string, value: unknown): unknown {
  const mayHold = typeof value === "string" || (typeof value === "object" && value !== null);
  if (mayHold && isSecretName(name)) return "***";
  return typeof value === "string" ? safeText(value) : value;
}

// The last @ ends the user-info, because an unescaped password may contain / ? # and @.
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

/**
 * Returns the class name of a thrown value. Its message is never shown, because drivers include hosts, names and
 * statements in it.
 */
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

/**
 * Returns the code of a system or driver error, for example `ECONNREFUSED` or `57P03`; undefined in any other format.
 */
export function codeOf(thrown: unknown): string | undefined {
  try {
    if (!(thrown instanceof Error) || !("code" in thrown)) return undefined;
    const { code } = thrown;
    return typeof code === "string" && /^[A-Z0-9_]{1,40}$/.test(code) ? code : undefined;
  } catch {
    // A getter or a revoked proxy threw.
    return undefined;
  }
}
