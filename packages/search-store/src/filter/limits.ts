/** How deep `and`, `or` and `not` may be nested. */
export const MAX_DEPTH = 8;
/** Comparisons of one filter. */
export const MAX_COMPARISONS = 100;
/** Values of all lists (`in`) of one filter. */
export const MAX_LISTED = 1000;
/** Bytes of a key. */
export const MAX_KEY_BYTES = 256;
/** Bytes of a text that is compared with. */
export const MAX_TEXT_BYTES = 8192;
