export { createRedisTokenStore, type RedisTokenStore } from "./redis/redis-token-store.ts";
export type { RedisLike, RedisTokenStoreOptions } from "./redis/options.ts";
