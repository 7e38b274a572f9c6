import type { ReadinessCheck } from "@svc/context";
import { atMostEvery, type BreakerState, createEmitter, safeLogger } from "@svc/resilience";
import { createCommands, type GuardedRedis } from "./commands.ts";
import { openConnection } from "./connection.ts";
import { RedisCommandError, RedisUnavailableError } from "./errors.ts";
import { type RedisEvent, type RedisOptions, redisOptions, type RedisOwner } from "./options.ts";
import { createProbe } from "./readiness.ts";

/** A guarded connection to a Redis or a Redis Cluster. */
export interface RedisConnection extends GuardedRedis, AsyncDisposable {
  readonly name: string;
  /** Returns the check for `/ready`, which is never critical (RDY-16). */
  readonly readiness: () => ReadinessCheck;
  /** `open` while commands to Redis, or to one node of a cluster, are rejected without being sent. */
  readonly state: BreakerState;
  /** Rejects new commands, waits for those in flight up to their deadline, and closes the connections that it opened. */
  readonly stop: () => Promise<void>;
}

const WARN_EVERY_MS = 10_000;

const REDIS: RedisOwner = {
  logField: "redis",
  UnavailableError: RedisUnavailableError,
  CommandError: RedisCommandError,
};

/**
 * Opens a connection to a Redis or a Redis Cluster, or takes the caller's client, with a deadline and a circuit breaker
 * (REV-7, REV-8). Returns without waiting for the connection. An absent Redis is not an error; the connection is made when it
 * appears.
 *
 * @param options at least `url`, `cluster`, `connection` or `client`
 * @param owner names in errors and log messages, for a package that offers the connection as its own
 * @throws ConfigurationError for invalid options
 */
export function createRedis(options: RedisOptions, owner: RedisOwner = REDIS): RedisConnection {
  const resolved = redisOptions.resolve(options);
  const { name, onEvent, now, readinessTimeoutMs } = resolved;
  const { logField } = owner;
  const logger = safeLogger(resolved.logger);
  let stopping: Promise<void> | undefined;
  // Whether the last log message was that Redis is not available.
  let isReported = false;

  const warn = atMostEvery(
    WARN_EVERY_MS,
    (suppressed: number, reason: string) => {
      isReported = true;
      logger?.warn({ [logField]: name, reason, suppressed }, "Redis is not available");
    },
    { now },
  );

  function reportTrouble(reason: string): void {
    if (stopping === undefined) warn(reason);
  }

  function reportRecovery(): void {
    // In a cluster, other nodes may still be down when one answers again.
    if (!isReported || commands.state !== "closed") return;
    isReported = false;
    logger?.info({ [logField]: name }, "Redis answers again");
  }

  const { emit } = createEmitter<RedisEvent>(onEvent, (suppressed, error) =>
    logger?.warn(
      { [logField]: name, err: error, suppressed },
      `the listener of a ${logField}'s events throws`,
    ),
  );

  const connection = openConnection(resolved, {
    onFailure: reportTrouble,
    onReady() {
      reportRecovery();
      commands.probeNow();
      refreshState();
    },
  });
  const commands = createCommands(resolved, owner, connection, {
    emit,
    onRefused: reportTrouble,
    onBreaker(to) {
      if (to === "open") reportTrouble("no answer in time");
      if (to !== "closed") return;
      reportRecovery();
      refreshState();
    },
  });
  const isStopped = (): boolean => stopping !== undefined;
  const probe = createProbe(connection, commands, { name, logField, readinessTimeoutMs, logger, isStopped });

  function refreshState(): void {
    probe.refresh().catch(() => undefined);
  }

  async function end(): Promise<void> {
    await commands.stop();
    connection.close();
  }

  function stop(): Promise<void> {
    stopping ??= end();
    return stopping;
  }

  return {
    ...commands.redis,
    name,
    readiness: () => probe.check,
    get state() {
      return commands.state;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
