export type { Bucket, RateLimitStore, Taken } from "./bucket.ts";
export { memoryStore, type MemoryStore, type MemoryStoreOptions } from "./memory-store.ts";
export type { CostFunction, KeyFunction, RateLimitOptions, RouteLimitOptions } from "./options.ts";
export { rateLimit, type RateLimit } from "./rate-limit.ts";
export type { NodeRedisLike, RedisLike } from "./redis-store.ts";
