/**
 * An event for metrics. `hit`, `miss`: a lookup in Redis; `suppressed`: a caller of `getOrSet` shared the lookup and fill of
 * another caller; `unavailable`: a command that Redis did not execute; `error`: a command that Redis rejected as wrong, or a
 * stored value that is not JSON; `too_large`: a value that was not stored or not read because of its size.
 */
export type CacheEvent = "hit" | "miss" | "suppressed" | "unavailable" | "error" | "too_large";
