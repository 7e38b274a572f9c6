/**
 * Returns a checked text as a SQL constant, for statements that take no parameters and for both values of
 * `standard_conforming_strings`. The text must not contain NUL or half a surrogate pair.
 */
export function literal(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return quoted.includes("\\") ? `E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}
