export { type Cache, createCache } from "./cache.ts";
export type { Entries } from "./entries.ts";
export { CacheCommandError, CacheUnavailableError, CacheValueError } from "./errors.ts";
export type { CacheEvent, CacheOptions } from "./options.ts";
export type {
  ClusterSeed,
  CommandArgument,
  ConnectionOptions,
  GuardedRedis,
  RedisClient,
  UnavailableReason,
} from "@svc/redis";
