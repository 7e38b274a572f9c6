/** Returns a text as a SQL constant, safe for any text and for both values of `standard_conforming_strings`. */
export function literal(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return quoted.includes("\\") ? `E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}
