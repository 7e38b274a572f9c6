const PLAIN = /^[^\p{Cc}\p{Surrogate}]*$/u;
const TENANT_ID = /^[^\p{Cc}\p{Surrogate}]{1,255}$/u;

/** The words for an error about a tenant id: what {@link isTenantId} accepts. */
export const TENANT_ID_EXPECTED =
  "1 to 255 characters, not only white space, without control characters and lone surrogates";

/**
 * Whether a value is the id of a tenant, the same in every package: a string of 1 to 255 Unicode code points, not only
 * white space, without control characters (U+0000 to U+001F, U+007F to U+009F) and lone surrogates (AUTH-39).
 */
export function isTenantId(value: unknown): value is string {
  return typeof value === "string" && TENANT_ID.test(value) && value.trim() !== "";
}

/** Whether a text has no control characters and no lone surrogates, so that every log, header and store can hold it. */
export function isPlainText(text: string): boolean {
  return PLAIN.test(text);
}
