import { OptionError } from "./errors.ts";

/**
 * A text as a constant in SQL, whatever is in it and whatever `standard_conforming_strings` says. For statements that take
 * no parameters.
 *
 * @throws OptionError for what no text of PostgreSQL can hold: NUL, and half a surrogate pair
 */
export function literal(text: string): string {
  if (/\0|\p{Surrogate}/u.test(text)) {
    throw new OptionError("a text for PostgreSQL must not contain NUL or half a surrogate pair");
  }
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return quoted.includes("\\") ? `E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}
