import { createRedis, type GuardedRedis, type RedisConnection, type RedisOwner } from "@svc/redis";
import { createEmitter, safeLogger } from "@svc/resilience";
import { createEntries, type Entries } from "./entries.ts";
import { CacheCommandError, CacheUnavailableError } from "./errors.ts";
import { type CacheEvent, type CacheOptions, cacheOptions } from "./options.ts";

/** A cache in Redis that many parts of a service share. */
export interface Cache
  extends Entries, AsyncDisposable, Pick<RedisConnection, "name" | "readiness" | "state" | "stop"> {
  /** Redis commands with the cache's deadline and circuit breaker. */
  readonly redis: GuardedRedis;
}

const CACHE: RedisOwner = {
  logField: "cache",
  UnavailableError: CacheUnavailableError,
  CommandError: CacheCommandError,
};

/**
 * Opens the shared connection to a Redis server or Redis Cluster, or uses the caller's client (REV-7, REV-8). Returns
 * without waiting for the connection. If Redis is down, that is not an error; the cache connects when Redis becomes
 * available.
 *
 * @throws ConfigurationError for invalid options
 */
export function createCache(options: CacheOptions): Cache {
  const { onEvent, maxValueBytes, fillTimeoutMs, ...connection } = cacheOptions.resolve(options);
  const logger = safeLogger(connection.logger);
  const { emit } = createEmitter<CacheEvent>(onEvent, (suppressed, error) =>
    logger?.warn({ cache: connection.name, err: error, suppressed }, "a cache event listener threw an error"),
  );
  const redis = createRedis({ ...connection, onEvent: emit }, CACHE);
  const { name, readiness, stop } = redis;
  return {
    name,
    redis,
    ...createEntries(redis, emit, { maxValueBytes, fillTimeoutMs }),
    readiness,
    get state() {
      return redis.state;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
