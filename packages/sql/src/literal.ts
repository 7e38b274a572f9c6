import { OptionError } from "./errors.ts";

/**
 * Returns a string as an SQL literal, for statements that take no parameters. The literal is safe for any string and for
 * both values of `standard_conforming_strings`.
 *
 * @throws OptionError for a string that PostgreSQL cannot store: with NUL or an unpaired surrogate
 */
export function literal(text: string): string {
  if (/\0|\p{Surrogate}/u.test(text)) {
    throw new OptionError("a PostgreSQL string must not contain NUL or an unpaired surrogate");
  }
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return quoted.includes("\\") ? `E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}
