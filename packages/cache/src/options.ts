import { func, integer, number, optional, resolveOptions, withDefault } from "@svc/options";
import {
  checkServer,
  connectionName,
  connectKinds,
  type ConnectOptions,
  type ResolvedConnectOptions,
} from "@svc/redis";

/**
 * An event for metrics. `hit`, `miss`: a lookup in Redis; `suppressed`: a caller of `getOrSet` shared the lookup and fill of
 * another caller; `unavailable`: a command that Redis did not execute; `error`: a command that Redis rejected as wrong, or a
 * stored value that is not JSON; `too_large`: a value that was not stored or not read because of its size.
 */
export type CacheEvent = "hit" | "miss" | "suppressed" | "unavailable" | "error" | "too_large";

/** Options of {@link createCache}. Times are in milliseconds. */
export interface CacheOptions extends ConnectOptions {
  /** Name of the readiness check, and of the cache in log messages. Default: `cache`. */
  readonly name?: string | undefined;
  /** Maximum size of a value in bytes of JSON. Default: 1,048,576. */
  readonly maxValueBytes?: number | undefined;
  /** Time limit of a filler of `getOrSet`. Default: 10,000. */
  readonly fillTimeoutMs?: number | undefined;
  /** Receives hits, misses and errors, for metrics. Its errors are ignored. Default: none. */
  readonly onEvent?: ((event: CacheEvent) => void) | undefined;
}

/** The options with their defaults filled in. */
export interface ResolvedCacheOptions extends ResolvedConnectOptions {
  readonly name: string;
  readonly maxValueBytes: number;
  readonly fillTimeoutMs: number;
  readonly onEvent: CacheOptions["onEvent"];
}

const SUBJECT = "createCache()";

/** @throws ConfigurationError for invalid options */
export function resolveCacheOptions(given: CacheOptions): ResolvedCacheOptions {
  const resolved = resolveOptions(SUBJECT, given, {
    ...connectKinds,
    name: withDefault(connectionName, "cache"),
    maxValueBytes: withDefault(integer({ min: 1, max: 512 * 1024 * 1024 }), 1024 * 1024),
    fillTimeoutMs: withDefault(number({ min: 1, max: 2 ** 31 - 1 }), 10_000),
    onEvent: optional(func<(event: CacheEvent) => void>()),
  });
  checkServer(SUBJECT, "the cache", resolved);
  return resolved;
}
