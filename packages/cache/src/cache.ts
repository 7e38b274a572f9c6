import { calmLogger, type ReadinessCheck } from "@svc/context";
import { atMostEvery, type BreakerState, guardedListener } from "@svc/resilience";
import { openConnection } from "./connection.ts";
import { createEntries, type Entries } from "./entries.ts";
import { createGuard, type GuardedRedis } from "./guarded-redis.ts";
import { type CacheOptions, resolveCacheOptions } from "./options.ts";
import { createProbe } from "./readiness.ts";

/** A Redis that many parts of a service share. */
export interface Cache extends Entries, AsyncDisposable {
  readonly name: string;
  /** Redis commands with the deadline and the circuit breaker of the cache. */
  readonly redis: GuardedRedis;
  /** Returns the check for `/ready`, which is never critical (RDY-16). */
  readonly readiness: () => ReadinessCheck;
  /** `open` while commands to Redis, or to one node of a cluster, are rejected without being sent. */
  readonly state: BreakerState;
  /** Rejects new commands, waits for those in flight up to their deadline, and closes the connections. */
  stop(): Promise<void>;
}

const WARN_EVERY_MS = 10_000;

/**
 * Opens the shared connection to a Redis or a Redis Cluster (REV-7, REV-8). Returns without waiting for it. An absent Redis
 * is not an error; the cache connects when it appears.
 *
 * @throws ConfigurationError for invalid options
 */
export function createCache(options: CacheOptions): Cache {
  const resolved = resolveCacheOptions(options);
  const { name, onEvent, now, maxValueBytes, fillTimeoutMs, readinessTimeoutMs } = resolved;
  const logger = calmLogger(resolved.logger);
  let stopping: Promise<void> | undefined;
  // Whether the last log message was that Redis is not available.
  let told = false;

  const warn = atMostEvery(
    WARN_EVERY_MS,
    (suppressed: number, reason: string) => {
      told = true;
      logger?.warn({ cache: name, reason, suppressed }, "Redis is not available");
    },
    { now },
  );

  function trouble(reason: string): void {
    if (stopping === undefined) warn(reason);
  }

  function better(): void {
    // In a cluster, other nodes may still be down when one answers again.
    if (!told || guard.state !== "closed") return;
    told = false;
    logger?.info({ cache: name }, "Redis answers again");
  }

  // Errors of the listener must not affect the cache.
  const emit = guardedListener(onEvent, (suppressed, error) =>
    logger?.warn({ cache: name, err: error, suppressed }, "the listener of a cache's events throws"),
  );

  const connection = openConnection(resolved, {
    onFailure: trouble,
    onReady() {
      better();
      guard.hope();
      look();
    },
  });
  const guard = createGuard(resolved, connection, {
    emit,
    onRefused: trouble,
    onBreaker(to) {
      if (to === "open") trouble("no answer in time");
      if (to !== "closed") return;
      better();
      look();
    },
  });
  const isStopped = (): boolean => stopping !== undefined;
  const probe = createProbe(connection, guard, { name, readinessTimeoutMs, logger, isStopped });

  function look(): void {
    probe.look().catch(() => undefined);
  }

  async function end(): Promise<void> {
    await guard.stop();
    connection.close();
  }

  function stop(): Promise<void> {
    stopping ??= end();
    return stopping;
  }

  return {
    name,
    redis: guard.redis,
    ...createEntries(guard.redis, emit, { maxValueBytes, fillTimeoutMs }),
    readiness: () => probe.check,
    get state() {
      return guard.state;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
