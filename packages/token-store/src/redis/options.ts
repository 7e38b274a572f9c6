import { func, type Kind, number, objectWith, resolveOptions, string, withDefault } from "@svc/options";
import type { ScriptRunner } from "@svc/redis/scripts";

/** The methods that the store calls. ioredis, its `Cluster`, `@svc/redis` and `@svc/cache` have them. */
export interface RedisLike extends ScriptRunner {
  mget(...keys: string[]): Promise<readonly (string | null)[]>;
  /** Whether the keys are spread over several servers. Default: detected from the first CROSSSLOT reply. */
  readonly isCluster?: boolean | undefined;
  /** Longest duration of a command in milliseconds, if the client limits it. Default: no limit. */
  readonly commandTimeoutMs?: number | undefined;
}

/** Options of `createRedisTokenStore()`. */
export interface RedisTokenStoreOptions {
  /** The caller's client or guarded connection. The store neither creates nor closes it. Reads must go to the primary. Required. */
  readonly redis: RedisLike;
  /** Prefix of all keys, the same in every replica of the service. Default: `svc:auth:`. */
  readonly keyPrefix?: string | undefined;
  /** Longest duration of an operation in milliseconds, including retries (REV-7). Default: 1000. */
  readonly timeoutMs?: number | undefined;
  /** Name of the readiness check. Default: `token-store`. */
  readonly name?: string | undefined;
  /** Clock in milliseconds since the Unix epoch that never goes back. Default: that of the process. */
  readonly now?: (() => number) | undefined;
}

const client: Kind<RedisLike> = objectWith<RedisLike>("a Redis client", "eval", "evalsha", "mget");

const kinds = {
  redis: client,
  // A brace in the prefix would put all keys into one slot.
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

/** @throws ConfigurationError for unknown or invalid options */
export function resolveRedisTokenStore(given: RedisTokenStoreOptions): ResolvedRedisTokenStore {
  return resolveOptions("createRedisTokenStore()", given, kinds);
}
