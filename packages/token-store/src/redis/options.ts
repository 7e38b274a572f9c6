import { func, type Kind, number, objectWith, resolveOptions, string, withDefault } from "@svc/options";

/** What the store asks of a client: those of ioredis, its `Cluster` included, have it, and so does `@svc/cache`. */
export interface RedisLike {
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  evalsha(sha1: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  mget(...keys: string[]): Promise<readonly (string | null)[]>;
  /** Whether keys live on several servers. Default: found out from the first answer that says so. */
  readonly isCluster?: boolean | undefined;
  /** How long any command takes at most, in milliseconds, where the client sees to that. Default: it does not. */
  readonly commandTimeoutMs?: number | undefined;
}

/** Options of `createRedisTokenStore()`. */
export interface RedisTokenStoreOptions {
  /** The client. The store neither makes nor ends it. Reads must go to the primary. Required. */
  readonly redis: RedisLike;
  /** What all keys begin with; the same in every replica of the service. Default: `svc:auth:`. */
  readonly keyPrefix?: string | undefined;
  /** How long an operation may take, with all that is tried again (REV-7). In milliseconds. Default: 1000. */
  readonly timeoutMs?: number | undefined;
  /** Name of the readiness check. Default: `token-store`. */
  readonly name?: string | undefined;
  /** Clock in milliseconds since the Unix epoch that never goes back. Default: that of the process. */
  readonly now?: (() => number) | undefined;
}

const client: Kind<RedisLike> = objectWith<RedisLike>("a Redis client", "eval", "evalsha", "mget");

const kinds = {
  redis: client,
  // Braces would decide about the slot of every key.
  keyPrefix: withDefault(
    string({ pattern: /^[^{}]{0,100}$/, expects: "at most 100 characters without braces" }),
    "svc:auth:",
  ),
  timeoutMs: withDefault(number({ min: 1, max: 60_000 }), 1_000),
  name: withDefault(string(), "token-store"),
  now: withDefault(func<() => number>(), () => performance.timeOrigin + performance.now()),
};

/** The options with their defaults filled in. */
export type ResolvedRedisTokenStore = {
  readonly [N in keyof RedisTokenStoreOptions]-?: NonNullable<RedisTokenStoreOptions[N]>;
};

/** @throws ConfigurationError for unknown or wrong options */
export function resolveRedisTokenStore(given: RedisTokenStoreOptions): ResolvedRedisTokenStore {
  return resolveOptions("createRedisTokenStore()", given, kinds);
}
