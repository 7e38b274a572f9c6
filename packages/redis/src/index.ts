export type { ClusterClient, CommandArgument, RedisClient } from "./client.ts";
export { type DedicatedConnection, type DedicatedOptions, openDedicated } from "./dedicated.ts";
export {
  connectionWord,
  isOfSelect,
  NotConnectedError,
  RedisCommandError,
  RedisUnavailableError,
  type UnavailableReason,
} from "./errors.ts";
export { fromNodeRedis, type NodeRedisClient } from "./node-redis.ts";
export {
  type ClusterSeed,
  type ConnectionOptions,
  type ConnectOptions,
  type RedisEvent,
  type RedisOptions,
  type RedisOwner,
  type ResolvedConnectOptions,
} from "./options.ts";
export { createRedis, type GuardedRedis, type RedisConnection } from "./redis.ts";
export { isAmbiguous, replyWord, runScript, script, type Script, type ScriptRunner } from "./scripts.ts";
