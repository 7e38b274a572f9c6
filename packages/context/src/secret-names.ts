/**
 * Patterns of the names whose values are secret: header names, cookies, members of objects. Each also covers longer names
 * that end in it, such as `x-api-key`, `dbPassword` and `refresh_token`.
 */
export const secretNamePatterns: readonly string[] = [
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

const secret = new RegExp(`(?:${secretNamePatterns.join("|")})$`, "i");

/** Returns whether a value with this name must not appear in a log line or an error body. */
export function isSecretName(name: string): boolean {
  return secret.test(name);
}
