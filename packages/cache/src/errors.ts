import { RedisCommandError, RedisUnavailableError, type UnavailableReason } from "@svc/redis";

/**
 * Thrown while Redis is unavailable. Respond with 503, or continue without the cache. The error never contains an
 * address, a key or a value.
 */
export class CacheUnavailableError extends RedisUnavailableError {
  override readonly name = "CacheUnavailableError";
  override readonly code = "ERR_SVC_CACHE_UNAVAILABLE";

  /**
   * @param reason why Redis is unavailable
   * @param retryAfterMs milliseconds after which a retry makes sense
   * @param reply first word of Redis's error reply
   */
  constructor(reason: UnavailableReason, retryAfterMs: number, reply?: string) {
    super(reason, retryAfterMs, reply, "the cache");
  }
}

/**
 * Thrown when Redis rejects a command as invalid: because of a bug in the program, or a script that Redis does not know
 * (NOSCRIPT).
 */
export class CacheCommandError extends RedisCommandError {
  override readonly name = "CacheCommandError";
  override readonly code = "ERR_SVC_CACHE_COMMAND";
}

/** Thrown for a value that cannot be stored, because it is not JSON or is longer than `maxValueBytes`. */
export class CacheValueError extends Error {
  override readonly name = "CacheValueError";
  readonly code = "ERR_SVC_CACHE_VALUE";
}
