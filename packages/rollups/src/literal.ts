/** A text as a constant in SQL, whatever is in it and whatever `standard_conforming_strings` says. */
export function literal(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return quoted.includes("\\") ? `E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}
