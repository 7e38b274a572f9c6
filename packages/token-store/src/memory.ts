import type { ReadinessCheck, RevocableToken, Rotation, RotationResult, TokenStore } from "@svc/context";
import { atMostEvery, safeLogger } from "@svc/resilience";
import { checkId, checkMoment, checkRotation, timeToLiveMs } from "./arguments.ts";
import { type Expiring, ExpiringMap } from "./expiring-map.ts";
import { type MemoryTokenStoreOptions, memoryTokenStoreOptions } from "./options.ts";
import { TokenStoreError } from "./token-store-error.ts";

interface Use extends Expiring {
  readonly nonce: string;
  readonly deadline: number;
}

interface SignOut extends Expiring {
  readonly notBefore: number;
}

/** A token store in the memory of one process, for a single replica and for tests. Returns results without promises. */
export interface MemoryTokenStore extends TokenStore {
  isRevoked(token: RevocableToken): boolean;
  revoke(jti: string, ttlSeconds: number): void;
  revokeFamily(fam: string, ttlSeconds: number): void;
  revokeSubject(sub: string, notBefore: number, ttlSeconds: number): void;
  signInTime(sub: string, nowSeconds: number): number;
  revokeSubjectNow(sub: string, nowSeconds: number, ttlSeconds: number): number;
  rotate(rotation: Rotation): RotationResult;
  readiness(): ReadinessCheck;
  /** Number of entries, including expired entries that were not swept yet. */
  readonly size: number;
  /** Deletes all entries and stops the sweep timer. */
  stop(): void;
  [Symbol.dispose](): void;
}

const SWEEP_INTERVAL_MS = 30_000;
const FULL_SWEEP_INTERVAL_MS = 1_000;
const WARNING_INTERVAL_MS = 10_000;
const NOTE = "in-memory token store: revocation does not survive a restart or reach other replicas";

/**
 * Creates a store that keeps revocations and used refresh tokens in the memory of this process (RDY-23). Every
 * operation is synchronous, so no other request runs between its read and its write (REF-7).
 *
 * The store holds at most `maxEntries` and never drops a live entry for a new one, because a revoked token would become
 * valid again. When it is full, `rotate` and the revocations throw, so a refresh or a logout fails (REF-17).
 *
 * @throws ConfigurationError for unknown or invalid options
 * @throws TokenStoreError (its operations) `ERR_SVC_TOKEN_STORE_FULL`, `ERR_SVC_TOKEN_STORE_ARGUMENT`
 */
export function createMemoryTokenStore(options?: MemoryTokenStoreOptions): MemoryTokenStore {
  const { maxEntries, name, now, ...resolved } = memoryTokenStoreOptions.resolve(options);
  const logger = safeLogger(resolved.logger);
  const tokens = new ExpiringMap<Expiring>();
  const families = new ExpiringMap<Expiring>();
  const subjects = new ExpiringMap<SignOut>();
  const uses = new ExpiringMap<Use>();
  const maps: readonly ExpiringMap<Expiring>[] = [tokens, families, subjects, uses];
  const maxWithUses = Math.floor(maxEntries * 0.9);
  let sweeper: NodeJS.Timeout | undefined;
  let sweptAt = -Infinity;
  // The latest time that a caller has passed, in whole seconds. It never decreases, because callers' clocks may differ.
  let latestSeconds = -Infinity;

  const warnFull = atMostEvery(
    WARNING_INTERVAL_MS,
    (suppressed) =>
      logger?.warn(
        { entries: size(), maxEntries, suppressed },
        "the in-memory token store is full: refreshes fail, and sign-outs may fail later, until entries expire",
      ),
    { now },
  );

  function size(): number {
    return tokens.size + families.size + subjects.size + uses.size;
  }

  function sweep(at: number): void {
    sweptAt = at;
    for (const map of maps) map.sweep(at);
    if (size() > 0) return;
    clearInterval(sweeper);
    sweeper = undefined;
  }

  /** @throws TokenStoreError when the store is full */
  function makeRoom(map: ExpiringMap<Expiring>, key: string, limit: number, at: number): void {
    // A sweep visits every entry, so it runs at most once per interval and not in every request.
    if (size() >= limit && !map.holds(key) && at - sweptAt >= FULL_SWEEP_INTERVAL_MS) sweep(at);
    if (size() < limit || map.holds(key)) {
      sweeper ??= setInterval(() => sweep(now()), SWEEP_INTERVAL_MS).unref();
      return;
    }
    warnFull();
    throw new TokenStoreError(
      "ERR_SVC_TOKEN_STORE_FULL",
      `the in-memory token store is full: it has ${size()} live entries, and maxEntries is ${maxEntries}; ` +
        "raise maxEntries or use a shared store",
    );
  }

  function remember(map: ExpiringMap<Expiring>, key: string, ttlMs: number): void {
    const at = now();
    const kept = map.get(key, at)?.expiresAt ?? -Infinity;
    if (kept >= at + ttlMs) return;
    makeRoom(map, key, maxEntries, at);
    map.set(key, { expiresAt: at + ttlMs });
  }

  function signedOut({ sub, signedInAt }: { sub: string; signedInAt: number }, at: number): boolean {
    const entry = subjects.get(sub, at);
    // NaN counts as the earliest sign-in, so every sign-out ends the session.
    return entry !== undefined && !(signedInAt >= entry.notBefore);
  }

  function signInTime(sub: string, nowSeconds: number): number {
    checkId("sub", sub);
    checkMoment("nowSeconds", nowSeconds);
    latestSeconds = Math.max(latestSeconds, Math.floor(nowSeconds));
    return Math.max(latestSeconds, Math.ceil(subjects.get(sub, now())?.notBefore ?? -Infinity));
  }

  const store: MemoryTokenStore = {
    isRevoked({ jti, fam, sub, signedInAt }) {
      const at = now();
      return (
        (fam !== undefined && families.get(fam, at) !== undefined) ||
        (jti !== undefined && tokens.get(jti, at) !== undefined) ||
        signedOut({ sub, signedInAt }, at)
      );
    },

    revoke(jti, ttlSeconds) {
      checkId("jti", jti);
      remember(tokens, jti, timeToLiveMs(ttlSeconds));
    },

    revokeFamily(fam, ttlSeconds) {
      checkId("fam", fam);
      remember(families, fam, timeToLiveMs(ttlSeconds));
    },

    revokeSubject(sub, notBefore, ttlSeconds) {
      checkId("sub", sub);
      checkMoment("notBefore", notBefore);
      const at = now();
      const expiresAt = at + timeToLiveMs(ttlSeconds);
      const kept = subjects.get(sub, at);
      makeRoom(subjects, sub, maxEntries, at);
      subjects.set(sub, {
        notBefore: Math.max(notBefore, kept?.notBefore ?? -Infinity),
        expiresAt: Math.max(expiresAt, kept?.expiresAt ?? -Infinity),
      });
    },

    signInTime,

    revokeSubjectNow(sub, nowSeconds, ttlSeconds) {
      const notBefore = signInTime(sub, nowSeconds) + 1;
      store.revokeSubject(sub, notBefore, ttlSeconds);
      return notBefore;
    },

    rotate(rotation) {
      const { jti, fam, sub, signedInAt, nonce } = rotation;
      const { graceMs, usedTtlMs, familyTtlMs } = checkRotation(rotation);
      const at = now();
      if (families.get(fam, at) !== undefined || signedOut({ sub, signedInAt }, at)) return "replayed";
      if (tokens.get(jti, at) === undefined) {
        const key = `${fam.length}:${fam}${jti}`;
        const use = uses.get(key, at);
        if (use === undefined) {
          makeRoom(uses, key, maxWithUses, at);
          uses.set(key, { nonce, deadline: at + graceMs, expiresAt: at + usedTtlMs });
          return "rotated";
        }
        if (use.nonce === nonce) return "rotated";
        if (at < use.deadline) return "raced";
      }
      remember(families, fam, familyTtlMs);
      return "replayed";
    },

    readiness: () => ({
      name,
      critical: false,
      check: () => ({ healthy: true, detail: NOTE, meta: { entries: size(), max_entries: maxEntries } }),
    }),

    get size() {
      return size();
    },

    stop() {
      clearInterval(sweeper);
      sweeper = undefined;
      for (const map of maps) map.clear();
    },

    [Symbol.dispose]: () => store.stop(),
  };
  return store;
}
