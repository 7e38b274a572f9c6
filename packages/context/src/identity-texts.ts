const PLAIN = /^[^\p{Cc}\p{Surrogate}]*$/u;
const TENANT_ID = /^[^\p{Cc}\p{Surrogate}]{1,255}$/u;

/** Describes a valid tenant id in error messages; {@link isTenantId} checks the same rule. */
export const TENANT_ID_EXPECTED =
  "1 to 255 characters, not all of them white space, and no control characters or lone surrogates";

/**
 * Returns whether a value is a valid tenant id: a string of 1 to 255 Unicode code points that is not only white space
 * and has no control characters (U+0000 to U+001F, U+007F to U+009F) or lone surrogates (AUTH-39). Every package uses
 * this check.
 */
export function isTenantId(value: unknown): value is string {
  return typeof value === "string" && TENANT_ID.test(value) && value.trim() !== "";
}

/**
 * Returns whether a string has no control characters and no lone surrogates, so that every log, header and store
 * accepts it.
 */
export function isPlainText(text: string): boolean {
  return PLAIN.test(text);
}
