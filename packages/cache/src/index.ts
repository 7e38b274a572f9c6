export { type Cache, createCache } from "./cache.ts";
export type { CommandArgument } from "./connection.ts";
export type { Entries } from "./entries.ts";
export {
  CacheCommandError,
  CacheUnavailableError,
  CacheValueError,
  type UnavailableReason,
} from "./errors.ts";
export type { CacheEvent } from "./events.ts";
export type { GuardedRedis } from "./guarded-redis.ts";
export type { CacheOptions, ClusterSeed, ConnectionOptions } from "./options.ts";
