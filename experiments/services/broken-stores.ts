import { createCache, type GuardedRedis } from "@svc/cache";
import type { RevocationCheck } from "@svc/jwt-auth";
import { createMemoryTokenStore, type TokenStore } from "@svc/token-store";
import { createRedisTokenStore, type RedisTokenStore } from "@svc/token-store/redis";
import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

type Store = TokenStore & RevocationCheck;

const keyPrefix = "svc:auth:";
// This value has the length of a real nonce, and differs from every other argument of the scripts.
const anyNonce = "00000000-0000-4000-8000-000000000000";

/** Returns a store with the fault of a variant; undefined for variants whose fault is elsewhere. */
export function brokenStore(variant: string, url: string): Store | undefined {
  if (variant === "broken-own-store") return createMemoryTokenStore();
  const { redis } = createCache({ url });
  const built = createRedisTokenStore({ redis, keyPrefix });
  if (variant === "broken-get-then-set") return getThenSet(built, redis);
  if (variant === "broken-no-winner") return withoutWinner(built);
  if (variant === "broken-no-nonce") return withoutNonce(redis);
  if (variant === "broken-local-clocks") return withoutClock(built);
  if (variant === "broken-no-family") return withoutFamily(built, redis);
  return variant === "broken-remembered" ? rememberedAnswers(built) : undefined;
}

/**
 * Returns a function that queries Redis without a breaker, or without a breaker and a deadline; undefined for other
 * variants.
 */
export function brokenWait(variant: string, url: string): (() => Promise<void>) | undefined {
  const deadlineMs = { "broken-no-breaker": 1000, "broken-no-deadline": 60_000 }[variant];
  if (deadlineMs === undefined) return undefined;
  const port = Number(new URL(url).port);
  return () =>
    new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1", () => socket.write("EXISTS revoked\r\n"));
      const done = (): void => {
        clearTimeout(timer);
        socket.destroy();
        resolve();
      };
      const timer = setTimeout(done, deadlineMs);
      socket.on("data", done).on("error", done);
    });
}

/** Rotates with two commands instead of one atomic script, so that other requests run in between. */
function getThenSet(built: RedisTokenStore, redis: GuardedRedis): Store {
  return {
    ...built,
    async rotate({ jti, fam, graceSeconds, usedTtlSeconds, familyTtlSeconds }) {
      const key = `used:${jti}`;
      const until = await redis.call("get", key);
      if (until === null) {
        const text = String(Date.now() + graceSeconds * 1000);
        // Long enough for the other requests to read the key, even on a busy machine.
        await delay(20);
        await redis.call("set", key, text, "EX", Math.ceil(usedTtlSeconds));
        return "rotated";
      }
      if (Date.now() < Number(until)) return "raced";
      await built.revokeFamily(fam, familyTtlSeconds);
      return "replayed";
    },
  };
}

/**
 * Behaves like a lock whose holder has died: requests with the first token wait for almost a second, and none of them
 * rotates it.
 */
function withoutWinner(built: RedisTokenStore): Store {
  let first: string | undefined;
  return {
    ...built,
    async rotate(rotation) {
      first ??= rotation.jti;
      if (rotation.jti !== first) return built.rotate(rotation);
      await delay(950);
      return "raced";
    },
  };
}

/** Draws a new nonce for each command, so that a repeated command counts as another use of the token. */
function withoutNonce(redis: GuardedRedis): Store {
  const drawn = (args: readonly string[]): readonly string[] =>
    args.map((each) => (each === anyNonce ? randomUUID() : each));
  const built = createRedisTokenStore({
    redis: {
      eval: (script, count, ...args) => redis.eval(script, count, ...drawn(args)),
      evalsha: (sha1, count, ...args) => redis.evalsha(sha1, count, ...drawn(args)),
      mget: (...keys) => redis.mget(...keys),
      isCluster: false,
    },
    keyPrefix,
  });
  return { ...built, rotate: (rotation) => built.rotate({ ...rotation, nonce: anyNonce }) };
}

/** Refuses a replayed token but keeps its session. */
function withoutFamily(built: RedisTokenStore, redis: GuardedRedis): Store {
  return {
    ...built,
    async rotate(rotation) {
      const result = await built.rotate(rotation);
      if (result === "replayed") await redis.call("del", `${keyPrefix}f:{${rotation.fam}}`);
      return result;
    },
  };
}

/** Dates sign-ins and sign-outs by the clock of the replica that handles them, instead of the store's. */
export function withoutClock(built: Store): Store {
  return {
    shared: true,
    isRevoked: (token) => built.isRevoked(token),
    revoke: (jti, ttlSeconds) => built.revoke(jti, ttlSeconds),
    revokeFamily: (fam, ttlSeconds) => built.revokeFamily(fam, ttlSeconds),
    revokeSubject: (sub, notBefore, ttlSeconds) => built.revokeSubject(sub, notBefore, ttlSeconds),
    rotate: (rotation) => built.rotate(rotation),
  };
}

/** Remembers every token that was once valid, and does not check it again. */
function rememberedAnswers(built: RedisTokenStore): Store {
  const good = new Set<string | undefined>();
  return {
    ...built,
    async isRevoked(token) {
      if (good.has(token.jti)) return false;
      const revoked = await built.isRevoked(token);
      if (!revoked) good.add(token.jti);
      return revoked;
    },
  };
}
