// Bounded by their length and without alternatives: they take linear time on any input.
/** What names a tenant in a host, a path or a header (TEN-12). */
export const SLUG: RegExp = /^[a-z0-9][a-z0-9-]{0,62}$/;
const SUBJECT = /^[A-Za-z0-9][A-Za-z0-9_.:@|-]{0,127}$/;

/** Whether a text can be the name of a tenant in a host, a path or a header (TEN-12). */
export function isSlug(text: string): boolean {
  return SLUG.test(text);
}

/** Whether a verified subject can be a tenant of its own (TEN-15). */
export function isSubjectTenant(subject: string): boolean {
  return SUBJECT.test(subject);
}

/** The longest part of a foreign value that is shown to anybody, in UTF-16 units (TEN-20). */
export const LONGEST_SHOWN = 128;

// Control characters, what turns the direction of text, line separators, halves of characters; and the quotes that
// the value is shown in.
const UNFIT = /[\p{C}\p{Zl}\p{Zp}'"\\]/gu;

/**
 * A foreign value in a form that cannot break a line, a quotation or a terminal: what is unfit becomes `?`, the rest
 * is cut at 128.
 */
export function shown(value: string): string {
  return value.slice(0, LONGEST_SHOWN).replace(UNFIT, "?");
}
