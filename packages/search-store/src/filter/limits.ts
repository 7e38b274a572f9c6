/** Nesting limit of `and`, `or` and `not`. */
export const MAX_DEPTH = 8;
/** Limit of comparisons in one filter. */
export const MAX_COMPARISONS = 100;
/** Limit of values in all `in` lists of one filter. */
export const MAX_LISTED = 1000;
/** Longest key in bytes. */
export const MAX_KEY_BYTES = 256;
/** Longest text value in bytes. */
export const MAX_TEXT_BYTES = 8192;
