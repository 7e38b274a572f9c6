import { createCache, type GuardedRedis } from "@svc/cache";
import type { RevocationCheck } from "@svc/jwt-auth";
import { createMemoryTokenStore, type TokenStore } from "@svc/token-store";
import { createRedisTokenStore, type RedisTokenStore } from "@svc/token-store/redis";
import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

type Store = TokenStore & RevocationCheck;

const keyPrefix = "svc:auth:";
// As long as the text that it stands for, and nothing else that a script is given.
const anyNonce = "00000000-0000-4000-8000-000000000000";

/** A store with a fault; undefined for variants whose fault is elsewhere. */
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

/** What asks Redis without a breaker, or without a deadline either; undefined for other variants. */
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

/** Two commands instead of one step: others come in between. */
function getThenSet(built: RedisTokenStore, redis: GuardedRedis): Store {
  return {
    ...built,
    async rotate({ jti, fam, graceSeconds, usedTtlSeconds, familyTtlSeconds }) {
      const key = `used:${jti}`;
      const until = await redis.call("get", key);
      if (until === null) {
        const text = String(Date.now() + graceSeconds * 1000);
        // Sure to be long enough for others on a busy machine.
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

/** What a lock looks like that is given up, for the first token: it takes almost a second, and then nobody has rotated. */
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

/** Every command that is sent counts as a presentation of its own. */
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

/** A replayed token is refused, and its session goes on. */
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

/** The clock of the replica that issues or signs out decides. */
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

/** A token that was good once stays so. */
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
