import { OptionError } from "./errors.ts";

/**
 * Returns a text as a SQL constant, for statements that take no parameters. It is safe for any text and for both values
 * of `standard_conforming_strings`.
 *
 * @throws OptionError for a text that PostgreSQL cannot store: with NUL or half a surrogate pair
 */
export function literal(text: string): string {
  if (/\0|\p{Surrogate}/u.test(text)) {
    throw new OptionError("a PostgreSQL string must not contain NUL or an unpaired surrogate");
  }
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return quoted.includes("\\") ? `E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}
