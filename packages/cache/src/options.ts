import { defineOptions, inSeconds, kinds as k, type OptionsOf } from "@svc/options";
// The subpath loads no client, so the plugin can read its options without one.
import { faultsOfServer, redisOptions } from "@svc/redis/options";

/**
 * An event for metrics. `hit`, `miss`: a lookup in Redis; `suppressed`: a caller of `getOrSet` shared the lookup and fill of
 * another caller; `unavailable`: a command that Redis did not execute; `error`: a command that Redis rejected as wrong, or a
 * stored value that is not JSON; `too_large`: a value that was not stored or not read because of its size.
 */
export type CacheEvent = "hit" | "miss" | "suppressed" | "unavailable" | "error" | "too_large";

const { keyPrefix, commandTimeoutMs } = redisOptions.keys;

export const cacheOptions = defineOptions("createCache()", {
  ...redisOptions.keys,
  /** Prefix of all keys, after the prefix of `client`; without braces, which would decide the slot. Default: empty. */
  keyPrefix: { ...keyPrefix, key: "key_prefix" },
  /** Deadline of a command, including the wait for a connection (REV-7). Default: 1,000. */
  commandTimeoutMs: {
    ...commandTimeoutMs,
    key: "command_timeout",
    inFile: inSeconds(k.number({ min: 0.001, max: 60 })),
  },
  /** Name of the readiness check, and of the cache in log messages. Default: `cache`. */
  name: { kind: k.withDefault(k.checkName, "cache") },
  /** Maximum size of a value in bytes of JSON. Default: 1,048,576. */
  maxValueBytes: { kind: k.withDefault(k.integer({ min: 1, max: 512 * 1024 * 1024 }), 1024 * 1024) },
  /** Time limit of a filler of `getOrSet`, whose signal aborts then. Default: 10,000. */
  fillTimeoutMs: { kind: k.withDefault(k.milliseconds, 10_000) },
  /**
   * Receives `hit`, `miss`, `suppressed`, `unavailable`, `error` and `too_large`, for metrics. Its errors are ignored.
   * Default: none.
   */
  onEvent: { kind: k.optional(k.func<(event: CacheEvent) => void>()) },
}).withCheck((options, name) => faultsOfServer(options, name, "the cache"));

/** Options of {@link createCache}. Times are in milliseconds. */
export type CacheOptions = OptionsOf<typeof cacheOptions>;
