import { defineOptions, inSeconds, kinds as k, type OptionsOf } from "@svc/options";
// `@svc/redis/options` does not load ioredis, so this file does not load ioredis either.
import { faultsOfServer, redisOptions } from "@svc/redis/options";

/**
 * An event for metrics. `hit`, `miss`: a lookup in Redis. `suppressed`: a caller of `getOrSet` shared another caller's
 * lookup and fill. `unavailable`: Redis did not execute a command. `error`: Redis rejected a command as invalid, or a
 * stored value is not JSON. `too_large`: a value was not stored or not read because of its size.
 */
export type CacheEvent = "hit" | "miss" | "suppressed" | "unavailable" | "error" | "too_large";

const { keyPrefix, commandTimeoutMs } = redisOptions.keys;

export const cacheOptions = defineOptions("createCache()", {
  ...redisOptions.keys,
  /**
   * Prefix for all keys, added after the prefix of `client`. Must not contain braces, which would determine the cluster
   * slot. Default: empty.
   */
  keyPrefix: { ...keyPrefix, key: "key_prefix" },
  /** Time limit for a command, including the wait for a connection (REV-7). Default: 1,000. */
  commandTimeoutMs: {
    ...commandTimeoutMs,
    key: "command_timeout",
    inFile: inSeconds(k.number({ min: 0.001, max: 60 })),
  },
  /** Name of the readiness check, and of the cache in log messages. Default: `cache`. */
  name: { kind: k.withDefault(k.checkName, "cache") },
  /** Maximum size of a value as JSON, in bytes. Default: 1,048,576. */
  maxValueBytes: { kind: k.withDefault(k.integer({ min: 1, max: 512 * 1024 * 1024 }), 1024 * 1024) },
  /** Time limit of the `fill` function of `getOrSet`; its signal aborts at the limit. Default: 10,000. */
  fillTimeoutMs: { kind: k.withDefault(k.milliseconds, 10_000) },
  /**
   * Receives `hit`, `miss`, `suppressed`, `unavailable`, `error` and `too_large`, for metrics. Its errors are ignored.
   * Default: none.
   */
  onEvent: { kind: k.optional(k.func<(event: CacheEvent) => void>()) },
}).withCheck((options, name) => faultsOfServer(options, name, "the cache"));

/** Options of {@link createCache}. Times are in milliseconds. */
export type CacheOptions = OptionsOf<typeof cacheOptions>;
