import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import type { ScriptRunner } from "@svc/redis/scripts";

/** The methods that the store calls. ioredis, its `Cluster`, `@svc/redis` and `@svc/cache` provide them. */
export interface RedisLike extends ScriptRunner {
  mget(...keys: string[]): Promise<readonly (string | null)[]>;
  /** Whether the keys are spread over several servers. Default: detected from the first CROSSSLOT reply. */
  readonly isCluster?: boolean | undefined;
  /** Longest duration of a command in milliseconds, if the client limits it. Default: no limit. */
  readonly commandTimeoutMs?: number | undefined;
}

export const redisTokenStoreOptions = defineOptions("createRedisTokenStore()", {
  /**
   * An ioredis client or `Cluster`, a connection of `@svc/redis`, `cache.redis` of `@svc/cache`, or an object with `eval`,
   * `evalsha` and `mget`. The store does not close it. Reads must go to the primary. Required.
   */
  redis: { kind: k.objectWith<RedisLike>("a Redis client", "eval", "evalsha", "mget") },
  /** Prefix of all keys, the same in every replica of the service, without braces. Default: `svc:auth:`. */
  // A brace in the prefix would put all keys into one slot.
  keyPrefix: {
    kind: k.withDefault(
      k.string({ pattern: /^[^{}]{0,100}$/, expects: "at most 100 characters without braces" }),
      "svc:auth:",
    ),
  },
  /** Longest duration of an operation in milliseconds, including retries (REV-7). Default: 1000. */
  timeoutMs: { kind: k.withDefault(k.number({ min: 1, max: 60_000 }), 1_000) },
  /** Name of the readiness check. Default: `token-store`. */
  name: { kind: k.withDefault(k.string(), "token-store") },
  /** Clock in milliseconds since the Unix epoch that never goes back. Default: the clock of the process. */
  now: { kind: k.withDefault(k.func<() => number>(), () => performance.timeOrigin + performance.now()) },
});

/** Options of `createRedisTokenStore()`. */
export type RedisTokenStoreOptions = OptionsOf<typeof redisTokenStoreOptions>;
