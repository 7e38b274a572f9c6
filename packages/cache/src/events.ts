/**
 * What happened, for metrics. `hit` and `miss` count looks into Redis; `suppressed`: a caller of `getOrSet` shared the
 * look and the filling of another one; `unavailable`: a command that Redis did not carry out; `error`: one that it called
 * wrong, or a stored value that is no JSON; `too_large`: a value that was not kept, or not read, for its size.
 */
export type CacheEvent = "hit" | "miss" | "suppressed" | "unavailable" | "error" | "too_large";
