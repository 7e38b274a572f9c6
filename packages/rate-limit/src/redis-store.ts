import { replyWord, type ScriptRunner } from "@svc/redis/scripts";
import { type Bucket, lifetimeSeconds, type RateLimitStore, type Taken } from "./bucket.ts";
import { takeScript } from "./bucket-script.ts";

/** The methods of node-redis that run a script. */
export interface NodeRedisLike {
  evalSha(sha1: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

/**
 * A Redis client: ioredis, its `Cluster`, a connection of `@svc/redis`, `cache.redis` of `@svc/cache`, or a client of
 * node-redis.
 */
export type RedisLike = ScriptRunner | NodeRedisLike;

/** Returns whether a value has the methods of a Redis client that the store calls. */
export function isRedis(value: object): value is RedisLike {
  const { evalsha, evalSha, eval: run } = value as Readonly<Record<string, unknown>>;
  return typeof run === "function" && (typeof evalsha === "function" || typeof evalSha === "function");
}

/** The arguments of the script that depend only on the bucket. */
type Numbers = readonly [limit: string, window: string, burst: string, lifetime: string];

/**
 * Returns a store in Redis. It uses the clock of the server, so differences between the clocks of replicas have no effect.
 */
export function redisStore(redis: RedisLike): RateLimitStore {
  const run = runnerOf(redis);
  const known = new WeakMap<Bucket, Numbers>();

  function numbersOf(bucket: Bucket): Numbers {
    const { limit, windowSeconds, burst } = bucket;
    const numbers: Numbers = [
      String(limit),
      String(windowSeconds),
      String(burst),
      String(lifetimeSeconds(bucket)),
    ];
    known.set(bucket, numbers);
    return numbers;
  }

  return {
    take(key, bucket, cost) {
      const [limit, window, burst, lifetime] = known.get(bucket) ?? numbersOf(bucket);
      const call = (text: string, isDigest: boolean): Promise<unknown> =>
        run(text, isDigest, key, limit, window, burst, String(cost), lifetime);
      return call(takeScript.sha1, true).then(takenOf, async (error: unknown) => {
        if (wordOf(error) !== "NOSCRIPT") throw error;
        return takenOf(await call(takeScript.source, false));
      });
    },
  };
}

type Runner = (text: string, isDigest: boolean, key: string, ...args: string[]) => Promise<unknown>;

function runnerOf(redis: RedisLike): Runner {
  if ("evalsha" in redis && typeof redis.evalsha === "function") {
    return (text, isDigest, ...rest) =>
      isDigest ? redis.evalsha(text, 1, ...rest) : redis.eval(text, 1, ...rest);
  }
  const client = redis as NodeRedisLike;
  return (text, isDigest, key, ...rest) => {
    const parameters = { keys: [key], arguments: rest };
    return isDigest ? client.evalSha(text, parameters) : client.eval(text, parameters);
  };
}

function takenOf(reply: unknown): Taken {
  const level = Number(reply);
  if (!Number.isSafeInteger(level)) throw new Error("the rate limit script returned an unexpected reply");
  return level < 0
    ? { isAdmitted: false, microTokens: -1 - level }
    : { isAdmitted: true, microTokens: level };
}

/** Returns the first word of an error reply of Redis, which is safe to log; node-redis has its own error classes. */
export function wordOf(error: unknown): string | undefined {
  const word = replyWord(error);
  if (word !== undefined || !(error instanceof Error)) return word;
  return /^[A-Z]{2,}\b/.exec(error.message)?.[0];
}
