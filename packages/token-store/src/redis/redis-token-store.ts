import { isAmbiguous, replyWord, runScript } from "@svc/redis/scripts";
import { DeadlineError, withDeadline } from "@svc/resilience";
import { setTimeout as sleep } from "node:timers/promises";
import { checkId, checkMoment, checkRotation, type RotationTimes, timeToLiveMs } from "../arguments.ts";
import type { Rotation, RotationResult } from "@svc/context";
import type { SharedTokenStore } from "../shared-token-store.ts";
import { type RedisTokenStoreOptions, redisTokenStoreOptions } from "./options.ts";
import { createReadiness } from "./readiness.ts";
import { keysWith, makeScripts } from "./scripts.ts";

/** A token store in Redis, for any number of replicas. */
export type RedisTokenStore = SharedTokenStore;

const PAUSES_MS = [25, 75, 150, 250];

/**
 * Creates a store that keeps revocations and used refresh tokens in Redis, so that a sign-out on one replica applies to
 * all (REV-11) and a refresh token rotates only once (REF-19). Every write is one script that uses the server's clock;
 * a check is one MGET. In a cluster, a session and its used tokens share a slot, and a check sends three commands at
 * once.
 *
 * A write whose response was lost is sent again with the same nonce within `timeoutMs`. A rotation that Redis executes
 * after that time has no effect (REF-17).
 *
 * @throws ConfigurationError for unknown or invalid options
 * @throws TokenStoreError (its operations) `ERR_SVC_TOKEN_STORE_ARGUMENT`; DeadlineError, or the client's error, when
 *   Redis does not respond
 */
export function createRedisTokenStore(options: RedisTokenStoreOptions): RedisTokenStore {
  const { redis, keyPrefix, timeoutMs, name, now } = redisTokenStoreOptions.resolve(options);
  const keys = keysWith(keyPrefix);
  const scripts = makeScripts();
  // Use only the client's deadline if it is not later, because a second timer would cost more than the revocation check
  // itself.
  const endsInTime = (redis.commandTimeoutMs ?? Infinity) <= timeoutMs;
  let split = redis.isCluster === true;
  // Milliseconds by which the server's clock is ahead of `now()`.
  let aheadMs = 0;

  /** Retries an operation whose response may have been lost. The operation must be safe to repeat. */
  function persistently<T>(operation: (until: number) => Promise<T>): Promise<T> {
    const until = now() + timeoutMs;
    return withDeadline(timeoutMs, async (signal) => {
      let sent = false;
      for (let attempt = 0; ; attempt++) {
        try {
          return await operation(until);
        } catch (error) {
          sent ||= isAmbiguous(error);
          const pause = PAUSES_MS[Math.min(attempt, PAUSES_MS.length - 1)];
          if (!sent || signal.aborted || replyWord(error) !== undefined) throw error;
          await sleep(pause, undefined, { signal });
        }
      }
    });
  }

  /** Reads keys of several slots, in one command if one server holds them all. */
  async function read(names: readonly string[]): Promise<readonly (string | null)[]> {
    if (!split) {
      try {
        return await redis.mget(...names);
      } catch (error) {
        if (replyWord(error) !== "CROSSSLOT") throw error;
        split = true;
      }
    }
    return (await Promise.all(names.map((each) => redis.mget(each)))).flat();
  }

  async function remember(key: string, ttlSeconds: number): Promise<void> {
    const ttl = timeToLiveMs(ttlSeconds);
    await persistently(() => runScript(redis, scripts.remember, [key], [ttl]));
  }

  /**
   * Runs a script that compares the server's clock with the caller's deadline, because the client may send it late,
   * after a reconnect. Repeats the script if it was late only because `aheadMs` was wrong.
   */
  function whileDue(operation: (latest: string) => Promise<unknown>): Promise<unknown> {
    return persistently(async (until) => {
      for (;;) {
        const answer = await operation(String(Math.ceil(until + aheadMs)));
        const [result, serverMs] = answer as readonly [unknown, unknown];
        const at = now();
        aheadMs = Number(serverMs) - at;
        if (result !== "late") return result;
        if (at >= until)
          throw new Error("Redis executed the command after its deadline, so it had no effect");
      }
    });
  }

  async function classify(rotation: Rotation, times: RotationTimes, latest: string): Promise<unknown> {
    const { jti, fam, sub, signedInAt, nonce } = rotation;
    const beside = [keys.family(fam), keys.use(fam, jti)];
    const elsewhere = [keys.token(jti), keys.subject(sub)];
    const { graceMs, usedTtlMs, familyTtlMs } = times;
    const args = [latest, signedInAt, graceMs, usedTtlMs, familyTtlMs, nonce];
    if (!split) {
      try {
        return await runScript(redis, scripts.rotate, [...beside, ...elsewhere], [...args, "0"]);
      } catch (error) {
        if (replyWord(error) !== "CROSSSLOT") throw error;
        split = true;
      }
    }
    // A revocation between this read and the script remains stored, so the new tokens are rejected when they are used.
    const [revoked, notBefore] = await read(elsewhere);
    if (beganBefore(signedInAt, notBefore)) return ["replayed", Math.round(now() + aheadMs)];
    return runScript(redis, scripts.rotate, beside, [...args, typeof revoked === "string" ? "1" : "0"]);
  }

  async function rotate(rotation: Rotation): Promise<RotationResult> {
    const times = checkRotation(rotation);
    const result = await whileDue((latest) => classify(rotation, times, latest));
    if (isResult(result)) return result;
    throw new TypeError(
      `the Redis script must return rotated, raced or replayed; it returned ${typeof result}`,
    );
  }

  const store: RedisTokenStore = {
    isRevoked({ jti, fam, sub, signedInAt }) {
      const names = [keys.subject(sub)];
      if (fam !== undefined) names.push(keys.family(fam));
      if (jti !== undefined) names.push(keys.token(jti));
      const answer = read(names);
      return (endsInTime ? answer : bounded(timeoutMs, answer)).then((entries) => {
        if (entries.length !== names.length) throw new TypeError("MGET must return one entry for each key");
        for (let at = 1; at < entries.length; at++) if (typeof entries[at] === "string") return true;
        return beganBefore(signedInAt, entries[0]);
      });
    },

    async revoke(jti, ttlSeconds) {
      checkId("jti", jti);
      await remember(keys.token(jti), ttlSeconds);
    },

    async revokeFamily(fam, ttlSeconds) {
      checkId("fam", fam);
      await remember(keys.family(fam), ttlSeconds);
    },

    async revokeSubject(sub, notBefore, ttlSeconds) {
      checkId("sub", sub);
      checkMoment("notBefore", notBefore);
      const args = [notBefore, timeToLiveMs(ttlSeconds)];
      await persistently(() => runScript(redis, scripts.signOut, [keys.subject(sub)], args));
    },

    async signInTime(sub) {
      checkId("sub", sub);
      return Number(await persistently(() => runScript(redis, scripts.signInTime, [keys.subject(sub)], [])));
    },

    async revokeSubjectNow(sub, _nowSeconds, ttlSeconds) {
      checkId("sub", sub);
      const ttl = timeToLiveMs(ttlSeconds);
      // A retry after a lost response sets `notBefore` a second later. This ends only sessions that began before the
      // call returned.
      return Number(
        await whileDue((latest) => runScript(redis, scripts.signOutNow, [keys.subject(sub)], [latest, ttl])),
      );
    },

    rotate,
    shared: true,

    readiness: () => createReadiness(name, redis, { key: keys.family("ready"), timeoutMs }),
  };
  return store;
}

function isResult(value: unknown): value is RotationResult {
  return value === "rotated" || value === "raced" || value === "replayed";
}

/** Returns whether a sign-out covers the session. NaN counts as the earliest sign-in. */
function beganBefore(signedInAt: number, notBefore: string | null | undefined): boolean {
  return typeof notBefore === "string" && !(signedInAt >= Number(notBefore));
}

/**
 * Returns `result`, or rejects when it takes longer than `ms`. Unlike `withDeadline` of `@svc/resilience`, it does not
 * create an abort signal, which would cost more than the check itself.
 *
 * @throws DeadlineError when the time is up
 */
function bounded<T>(ms: number, result: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DeadlineError(ms)), ms);
    result.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error as Error);
      },
    );
  });
}
