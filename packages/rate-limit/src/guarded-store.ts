import type { CheckResult, Logger, ReadinessCheck } from "@svc/context";
import { type Attempt, atMostEvery, createBreaker, isThenable, safeLogger } from "@svc/resilience";
import type { Bucket, RateLimitStore, Taken } from "./bucket.ts";
import { wordOf } from "./redis-store.ts";

/** A store whose calls end within a time limit and never throw. */
export interface GuardedStore {
  /** As in {@link RateLimitStore}; the result is undefined if the store does not respond. */
  take(key: string, bucket: Bucket, cost: number): Taken | undefined | Promise<Taken | undefined>;
  /** Milliseconds until the next call of the store; 0 while it responds. */
  readonly retryAfterMs: number;
  readonly readiness: () => ReadinessCheck;
}

export interface GuardOptions {
  readonly commandTimeoutMs: number;
  readonly failOpen: boolean;
  readonly now: () => number;
  readonly logger: Pick<Logger, "info" | "warn"> | undefined;
  /** The key that the readiness check takes a token from. */
  readonly probeKey: string;
}

interface InFlight {
  /** In milliseconds of `performance.now()`. */
  readonly until: number;
  readonly attempt: Attempt | undefined;
  readonly resolve: (taken: Taken | undefined) => void;
  isSettled: boolean;
  next: InFlight | undefined;
}

const COOL_DOWN_MS = 2000;
const WARN_EVERY_MS = 10_000;
const STALL_MS = 50;
const NOT_ENFORCED = "rate limits are not enforced: the store does not answer";
const REJECTED = "requests are rejected: the store of the rate limits does not answer";
// The probe writes, because a Redis that is full or read-only still replies to reads.
const PROBE: Bucket = { limit: 1_000_000, windowSeconds: 1, burst: 1_000_000 };

/**
 * Guards a store (RATE-5). The first failure or timeout opens a circuit breaker and ends all waiting calls, so that the
 * store costs at most one time limit per breaker window. Afterwards the breaker sends one trial call per window.
 */
export function guardStore(store: RateLimitStore, options: GuardOptions): GuardedStore {
  const { commandTimeoutMs, failOpen, now, probeKey } = options;
  const logger = safeLogger(options.logger);
  const breaker = createBreaker({
    failures: 1,
    coolDownMs: COOL_DOWN_MS,
    now,
    onChange({ to }) {
      if (to === "closed") logger?.info({}, "rate limits are enforced again: the store answers");
    },
  });
  const warn = atMostEvery(
    WARN_EVERY_MS,
    (suppressed: number, reason: string) =>
      logger?.warn({ reason, suppressed }, failOpen ? NOT_ENFORCED : REJECTED),
    { now },
  );
  // The calls form a linked list in the order of their deadlines, because all have the same time limit. They share one
  // timer.
  let oldest: InFlight | undefined;
  let newest: InFlight | undefined;
  let timer: NodeJS.Timeout | undefined;

  function arm(): void {
    if (oldest === undefined || timer !== undefined) return;
    timer = setTimeout(due, Math.max(1, Math.ceil(oldest.until - performance.now())), oldest.until).unref();
  }

  // After this process has stalled, read the replies that have already arrived before ending overdue calls.
  function due(until: number): void {
    if (performance.now() - until > STALL_MS) timer = setTimeout(expire, STALL_MS).unref();
    else setImmediate(expire);
  }

  function expire(): void {
    timer = undefined;
    if (oldest !== undefined && oldest.until <= performance.now()) {
      fail(oldest.attempt, "no answer in time");
      for (let each: InFlight | undefined = oldest; each !== undefined; each = each.next) {
        if (settle(each)) each.resolve(undefined);
      }
    }
    arm();
  }

  /** Returns whether the call was still in flight. */
  function settle(entry: InFlight): boolean {
    if (entry.isSettled) return false;
    entry.isSettled = true;
    while (oldest?.isSettled === true) oldest = oldest.next;
    if (oldest === undefined) newest = undefined;
    return true;
  }

  function fail(attempt: Attempt | undefined, reason: string): void {
    (attempt ?? breaker).failed();
    warn(reason);
  }

  function wait(reply: Promise<Taken>, attempt: Attempt | undefined): Promise<Taken | undefined> {
    return new Promise((resolve) => {
      const until = performance.now() + commandTimeoutMs;
      const entry: InFlight = { until, attempt, resolve, isSettled: false, next: undefined };
      if (newest === undefined) oldest = entry;
      else newest.next = entry;
      newest = entry;
      if (timer === undefined) arm();
      reply.then(
        (taken) => {
          if (!settle(entry)) return;
          attempt?.succeeded();
          resolve(taken);
        },
        (error: unknown) => {
          if (!settle(entry)) return;
          fail(attempt, reasonOf(error));
          resolve(undefined);
        },
      );
    });
  }

  function take(key: string, bucket: Bucket, cost: number): ReturnType<GuardedStore["take"]> {
    let attempt: Attempt | undefined;
    if (breaker.state !== "closed") {
      attempt = breaker.attempt();
      if (attempt === undefined) return undefined;
    }
    try {
      const taken = store.take(key, bucket, cost);
      if (isThenable(taken)) return wait(taken, attempt);
      attempt?.succeeded();
      return taken;
    } catch (error) {
      fail(attempt, reasonOf(error));
      return undefined;
    }
  }

  async function check(): Promise<CheckResult> {
    const taken = await take(probeKey, PROBE, 1);
    if (taken !== undefined) return { healthy: true, detail: "rate limits are enforced" };
    return { healthy: false, detail: failOpen ? NOT_ENFORCED : REJECTED };
  }

  return {
    take,
    get retryAfterMs() {
      return breaker.retryAfterMs;
    },
    readiness: () => ({ name: "rate_limit", critical: false, check }),
  };
}

/** Returns a keyword for an error. Its message may contain an address or a key. */
function reasonOf(error: unknown): string {
  const { code, reason } = (error ?? {}) as { readonly code?: unknown; readonly reason?: unknown };
  const word = wordOf(error) ?? reason ?? code;
  return typeof word === "string" ? word : error instanceof Error ? error.name : "unknown";
}
