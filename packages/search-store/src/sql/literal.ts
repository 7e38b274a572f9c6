/**
 * A text as a constant in SQL, for statements that take no parameters, whatever `standard_conforming_strings` says. Only for
 * texts that were checked: no NUL and no half of a surrogate pair.
 */
export function literal(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return quoted.includes("\\") ? `E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}
