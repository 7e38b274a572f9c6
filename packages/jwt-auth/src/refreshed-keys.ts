import { AsyncLocalStorage } from "node:async_hooks";
import type { KeyObject } from "node:crypto";
import type { CheckResult, Logger, ReadinessCheck } from "@svc/context";
import { type Attempt, type Breaker, createBreaker, safeLogger, withDeadline } from "@svc/resilience";
import type { Algorithm } from "./algorithms.ts";
import { KeySetError, keySetErrorOf } from "./key-set-error.ts";
import { type KeySet, noKeys } from "./key-set.ts";
import type { KeySource } from "./key-source.ts";

/** Settings of the fetch and the cache of keys. */
export interface RefreshPlan {
  /**
   * Fetches all keys. Receives the previous keys, to reuse their objects. The messages of its errors may be unsafe to
   * log; the caller replaces them.
   */
  readonly load: (signal: AbortSignal, before: KeySet) => Promise<KeySet>;
  /** The algorithms that the keys are used for. */
  readonly algorithms: readonly Algorithm[];
  /** Where the keys come from, for log messages: a URL without its query, or `jwks-rsa`. */
  readonly place: string;
  readonly timeoutMs: number;
  /** Failures that open the breaker; 0 turns it off. */
  readonly breakerFailures: number;
  readonly coolDownMs: number;
  readonly maxAgeMs: number;
  /** Age in milliseconds at which stale keys are dropped; Infinity: never. */
  readonly maxStaleMs: number;
  readonly logger: Logger | undefined;
  readonly now: () => number;
  readonly random: () => number;
}

/** A key source whose keys may change. */
export interface RefreshedKeySource extends KeySource, Disposable {
  /**
   * Fetches the keys if the rate limit and the breaker allow it; resolves with the key or undefined, or rejects with a
   * KeySetError.
   */
  refresh(kid: string | undefined, algorithm: Algorithm): Promise<KeyObject | undefined>;
  /**
   * Creates the readiness check `auth` (RDY-14, RDY-24, RDY-25), which reports the current state and never fetches or
   * waits.
   */
  readiness(): ReadinessCheck;
  /** Stops the timer and a running fetch. Keeps the current keys. */
  stop(): void;
}

const UNKNOWN_KID_MS = 60_000;
const COLD_MS = 1000;
// Prevents a busy loop when a timer fires slightly early or the clock of a test is stopped.
const SHORTEST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 2 ** 31 - 1;

/**
 * Creates a source that fetches its keys immediately, again when they reach their maximum age, and for an unknown key id.
 * Each fetch replaces the whole set, and all callers share a running fetch (KEY-5, KEY-15). A failed fetch leaves the
 * keys unchanged (KEY-4).
 */
export function refreshedKeys(plan: RefreshPlan): RefreshedKeySource {
  const { load, algorithms, place, timeoutMs, coolDownMs, maxAgeMs, maxStaleMs, now, random } = plan;
  const logger = safeLogger(plan.logger);
  const breaker: Breaker | undefined =
    plan.breakerFailures === 0
      ? undefined
      : createBreaker({ failures: plan.breakerFailures, coolDownMs, now });
  // Run fetches outside the context of the request that triggers them, because other requests share them.
  const outside = AsyncLocalStorage.snapshot();
  const ended = new AbortController();

  let keys = noKeys;
  let generation = 0;
  let fetchedAt: number | undefined;
  let failure: KeySetError | undefined;
  let flight: Promise<void> | undefined;
  let startedAt = -Infinity;
  let lookedUpAt = -Infinity;
  let dueAt = -Infinity;
  let timer: NodeJS.Timeout | undefined;
  const first = setImmediate(wake);
  first.unref();

  function ageMs(): number {
    return fetchedAt === undefined ? Infinity : now() - fetchedAt;
  }

  function use(next: KeySet): void {
    if (next.identity === keys.identity) return;
    keys = next;
    generation += 1;
    logger?.info({ key_set: place, keys: next.size }, "the token verification keys changed");
  }

  function dropStale(): void {
    if (keys.size > 0 && ageMs() >= maxStaleMs) use(noKeys);
  }

  /** Starts a fetch; returns undefined when the breaker is open. */
  function start(): Promise<void> | undefined {
    const attempt = breaker?.attempt();
    if (breaker !== undefined && attempt === undefined) return undefined;
    startedAt = now();
    const started = outside(run, attempt).finally(() => {
      flight = undefined;
    });
    flight = started;
    // Handle the rejection here, because a background fetch does not have a caller that handles it.
    started.catch(() => undefined);
    return started;
  }

  async function run(attempt: Attempt | undefined): Promise<void> {
    try {
      const next = await withDeadline(timeoutMs, (signal) => load(signal, keys), { signal: ended.signal });
      attempt?.succeeded();
      fetchedAt = now();
      if (failure !== undefined)
        logger?.info({ key_set: place }, "the token verification keys were fetched after a failure");
      failure = undefined;
      use(next);
    } catch (error) {
      if (ended.signal.aborted) {
        attempt?.cancelled();
        throw stopped();
      }
      attempt?.failed();
      failure = keySetErrorOf(error);
      const fields = { key_set: place, reason: failure.reason, keys: keys.size, breaker: breaker?.state };
      logger?.warn(fields, "the token verification keys could not be fetched");
      throw failure;
    } finally {
      dueAt = now() + restMs();
      wait();
    }
  }

  /** Returns the pause between the fetch that just ended and the next background fetch. */
  function restMs(): number {
    // Spread the fetches of replicas that started together.
    if (failure === undefined) return maxAgeMs * (0.9 + 0.2 * random());
    const pause = keys.size === 0 ? COLD_MS : coolDownMs;
    return Math.max(pause, breaker?.retryAfterMs ?? 0) * (1 + 0.1 * random());
  }

  function wait(): void {
    clearTimeout(timer);
    if (ended.signal.aborted) return;
    const ms = Math.min(dueAt - now(), keys.size === 0 ? Infinity : maxStaleMs - ageMs());
    timer = setTimeout(wake, Math.min(Math.max(ms, SHORTEST_WAIT_MS), LONGEST_WAIT_MS));
    timer.unref();
  }

  function wake(): void {
    dropStale();
    if (flight !== undefined) return;
    const isDue = now() >= dueAt;
    if (isDue && start() !== undefined) return;
    if (isDue) dueAt = now() + COLD_MS;
    outside(wait);
  }

  /**
   * Starts a fetch for an unknown key id; returns undefined if the rate limit or the breaker does not allow one now.
   */
  function lookUp(kid: string | undefined): Promise<void> | undefined {
    const at = now();
    if (keys.size === 0) return at - startedAt < COLD_MS ? undefined : start();
    if (kid === undefined || keys.has(kid) || at - lookedUpAt < UNKNOWN_KID_MS) return undefined;
    const started = start();
    if (started !== undefined) lookedUpAt = at;
    return started;
  }

  async function refresh(kid: string | undefined, algorithm: Algorithm): Promise<KeyObject | undefined> {
    dropStale();
    const found = keys.find(kid, algorithm);
    if (found !== undefined) return found;
    // Do not fetch if the key with this id does not fit the algorithm, or if a token without an id could match several
    // keys.
    if (keys.size > 0 && (kid === undefined || keys.has(kid))) return undefined;
    if (ended.signal.aborted) throw stopped();
    if (flight !== undefined) {
      await flight;
      const shared = keys.find(kid, algorithm);
      if (shared !== undefined) return shared;
    }
    // The shared fetch may have started before the issuer published the key; fetch again if the rate limit allows it.
    const newer = flight ?? lookUp(kid);
    if (newer !== undefined) {
      await newer;
      return keys.find(kid, algorithm);
    }
    // The key is known to be missing only if the last fetch succeeded.
    if (failure !== undefined) throw failure;
    return undefined;
  }

  function check(): CheckResult {
    dropStale();
    const open = breaker === undefined || breaker.state === "closed" ? "" : " (breaker open)";
    const failed = failure === undefined ? "" : `; last refresh failed: ${failure.reason}${open}`;
    if (fetchedAt === undefined) {
      const meta = failure === undefined ? undefined : { lastFailure: failure.reason + open };
      return { healthy: false, critical: true, detail: "no keys fetched yet", meta };
    }
    const ageSeconds = Math.floor(ageMs() / 1000);
    const cached = `cached ${ageSeconds}s ago`;
    const meta = { keys: keys.size, ageSeconds };
    if (keys.size === 0) {
      return { healthy: false, critical: true, detail: `keys ${cached} were dropped${failed}`, meta };
    }
    return failure === undefined
      ? { healthy: true, critical: false, detail: `${keys.size} key(s), ${cached}`, meta }
      : { healthy: false, critical: false, detail: `serving keys ${cached}${failed}`, meta };
  }

  function stop(): void {
    clearImmediate(first);
    clearTimeout(timer);
    ended.abort(stopped());
  }

  return {
    get generation() {
      return generation;
    },
    algorithms,
    find: (kid, algorithm) => keys.find(kid, algorithm),
    refresh,
    readiness: () => ({ name: "auth", critical: true, check }),
    stop,
    [Symbol.dispose]: stop,
  };
}

function stopped(): KeySetError {
  return new KeySetError("the key source was stopped");
}
