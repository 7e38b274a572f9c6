/** The replacement for hidden values. */
export const mask = "***";

/** Returns whether the name of a key suggests a secret value. */
export function isSecretName(name: string): boolean {
  return /pass(word|wd|phrase|code)?|pwd|secret|token|credential|key|dsn|cookie|salt|private/i.test(name);
}

/** Returns whether a string looks like a credential or contains one. */
export function isSecretText(text: string): boolean {
  // Treat a long string as secret: it is not useful in a message, and would be slow to search.
  return text.length > 200 || credentials.some((each) => each.test(text));
}

const credentials: readonly RegExp[] = [
  /@/, // user-info of a URL or a connection string
  /:\/\/.*\?/s, // a URL with a query
  /(pass\w*|pwd|secret|token|key)\s*[=:]|(bearer|basic)\s/i,
  /-----BEGIN|\beyJ[\w-]+\./,
  /(?=[\w+/=-]*\d)(?=[\w+/=-]*[a-z])[\w+/=-]{24,}/i, // a long run of letters and digits
];

/** Formats a value for an error message on one short line: scalars and lists as written, other values by their type. */
export function showValue(value: unknown): string {
  if (typeof value === "string") {
    return isSecretText(value) ? "a string that is not shown" : cut(JSON.stringify(value));
  }
  if (Array.isArray(value)) {
    if (value.some((each) => typeof each === "object")) return `a list of length ${value.length}`;
    return cut(`[${value.map(showValue).join(", ")}]`);
  }
  if (value instanceof Date) return "a date";
  return typeof value === "object" ? "a table" : cut(`${value as number | boolean}`);
}

/** Returns a copy of a value for a log, with everything masked that looks secret. */
export function maskValue(value: unknown): unknown {
  if (typeof value === "string") return isSecretText(value) ? mask : value;
  if (Array.isArray(value)) return value.map(maskValue);
  if (value instanceof Date || typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, isSecretName(name) ? mask : maskValue(each)]),
  );
}

/** Returns the dotted name of a key as in the file, with quotes where TOML needs them. */
export function keyName(path: readonly string[]): string {
  return path.map(nameOf).join(".");
}

function nameOf(name: string): string {
  // A misplaced equals sign can turn a secret value into a name.
  if (isSecretText(name)) return mask;
  return /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
}

function cut(text: string): string {
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
