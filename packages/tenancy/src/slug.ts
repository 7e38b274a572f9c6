// Both patterns have a bounded length and no alternatives, so they take linear time on any input.
/** Syntax of a tenant's name in a host, a path or a header (TEN-12). */
export const SLUG: RegExp = /^[a-z0-9][a-z0-9-]{0,62}$/;
const SUBJECT = /^[A-Za-z0-9][A-Za-z0-9_.:@|-]{0,127}$/;

/** Returns whether a string is a valid tenant name in a host, a path or a header (TEN-12). */
export function isSlug(text: string): boolean {
  return SLUG.test(text);
}

/** Returns whether a verified subject is a valid tenant for the source `user` (TEN-15). */
export function isSubjectTenant(subject: string): boolean {
  return SUBJECT.test(subject);
}

/** Maximum length at which a response or log record shows a value from a client or token, in UTF-16 units (TEN-20). */
export const LONGEST_SHOWN = 128;

// Control and bidirectional characters, line separators, lone surrogates, and the quotes that enclose the value.
const UNFIT = /[\p{C}\p{Zl}\p{Zp}'"\\]/gu;

/**
 * Makes a value from a client or token safe for a log record, a quotation and a terminal: truncates it to 128
 * characters and replaces unsafe characters with `?`.
 */
export function shown(value: string): string {
  return value.slice(0, LONGEST_SHOWN).replace(UNFIT, "?");
}
