import type { ReadinessCheck } from "@svc/context";
import { atMostEvery, type BreakerState, createEmitter, safeLogger } from "@svc/resilience";
import type { CommandArgument } from "./client.ts";
import { ONLY, openConnection } from "./connection.ts";
import { RedisCommandError, RedisUnavailableError } from "./errors.ts";
import { createGuard, type Guard } from "./guard.ts";
import { type RedisEvent, type RedisOptions, redisOptions, type RedisOwner } from "./options.ts";
import { createProbe } from "./readiness.ts";

/**
 * Redis commands that take at most `commandTimeoutMs`, and that reject immediately while Redis is unavailable (REV-7, REV-8).
 * Keys get the connection's prefix.
 *
 * Commands reject with `RedisUnavailableError` while Redis is unavailable, and with `RedisCommandError` if Redis
 * rejects the command as invalid.
 */
export interface GuardedRedis {
  /** Runs any command, for example `call("incr", "visits")`. In a cluster its keys must share a hash tag. */
  call(command: string, ...args: readonly CommandArgument[]): Promise<unknown>;
  eval(script: string, numberOfKeys: number, ...keysAndArgs: readonly CommandArgument[]): Promise<unknown>;
  evalsha(sha: string, numberOfKeys: number, ...keysAndArgs: readonly CommandArgument[]): Promise<unknown>;
  /** Returns how many of the keys exist. */
  exists(...keys: readonly string[]): Promise<number>;
  /** Returns the strings stored under several keys, null for a missing key. */
  mget(...keys: readonly string[]): Promise<readonly (string | null)[]>;
  /** Whether the keys are spread over several servers. */
  readonly isCluster: boolean;
  /** Deadline of a command in milliseconds. */
  readonly commandTimeoutMs: number;
}

/** A guarded connection to a Redis server or a Redis Cluster. */
export interface RedisConnection extends GuardedRedis, AsyncDisposable {
  readonly name: string;
  /** Returns the check for `/ready`, which is never critical (RDY-16). */
  readonly readiness: () => ReadinessCheck;
  /** `open`, or `half-open` during a probe, while commands to Redis or to a node of a cluster are rejected without being sent. */
  readonly state: BreakerState;
  /** Rejects new commands, waits for commands in flight up to their deadline, and closes the connections that it opened. */
  readonly stop: () => Promise<void>;
}

// These commands change the shared connection or block it.
const REFUSED: ReadonlySet<string> = new Set(
  (
    "subscribe psubscribe ssubscribe unsubscribe punsubscribe sunsubscribe monitor multi exec discard watch " +
    "unwatch select quit auth hello reset client wait waitaof sync psync shutdown blpop brpop brpoplpush blmove " +
    "blmpop bzpopmin bzpopmax bzmpop readonly readwrite asking"
  ).split(" "),
);
const CROSSED = "CROSSSLOT the keys of a command must share a hash tag in a cluster";
const SERVERS_AT_MOST = 1000;
const WARN_EVERY_MS = 10_000;

const REDIS: RedisOwner = {
  logField: "redis",
  UnavailableError: RedisUnavailableError,
  CommandError: RedisCommandError,
};

/**
 * Opens a connection to a Redis server or a Redis Cluster, or uses the caller's client, with a deadline and a circuit
 * breaker (REV-7, REV-8). Returns without waiting for the connection. An unreachable Redis is not an error; the connection
 * is made when Redis becomes available.
 *
 * @param options at least `url`, `cluster`, `connection` or `client`
 * @param owner log field and error classes of the package in whose name the connection logs and throws
 * @throws ConfigurationError for invalid options
 */
export function createRedis(options: RedisOptions, owner: RedisOwner = REDIS): RedisConnection {
  const resolved = redisOptions.resolve(options);
  const { name, now, commandTimeoutMs, readinessTimeoutMs } = resolved;
  const { logField, CommandError } = owner;
  const logger = safeLogger(resolved.logger);
  const guards = new Map<string, Guard>();
  let stopping: Promise<void> | undefined;
  // Whether the last log record reported that Redis is not available.
  let isReported = false;

  const { emit } = createEmitter<RedisEvent>(resolved.onEvent, (suppressed, error) =>
    logger?.warn({ [logField]: name, err: error, suppressed }, `a ${logField} event listener threw an error`),
  );
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
    // In a cluster, other nodes may still be down when one node responds again.
    if (!isReported || worstState() !== "closed") return;
    isReported = false;
    logger?.info({ [logField]: name }, "Redis answers again");
  }

  const connection = openConnection(resolved, {
    onFailure: reportTrouble,
    onReady() {
      reportRecovery();
      for (const guard of guards.values()) guard.probeNow();
      probe.refresh();
    },
  });

  /** Returns the guard of one server. */
  function guardOf(server: string): Guard {
    const known = guards.get(server);
    if (known !== undefined) return known;
    // The nodes of a cluster change, so drop the guards of idle nodes.
    if (guards.size >= SERVERS_AT_MOST) {
      for (const [each, guard] of guards) if (guard.inFlight === 0 && each !== ONLY) guards.delete(each);
    }
    const guard = createGuard(resolved, owner, () => connection.probe(server), onBreaker);
    guards.set(server, guard);
    return guard;
  }

  function onBreaker(to: BreakerState): void {
    if (to === "open") reportTrouble("no answer in time");
    if (to !== "closed") return;
    reportRecovery();
    probe.refresh();
  }

  function worstState(): BreakerState {
    const states = new Set([...guards.values()].map(({ state }) => state));
    return states.has("open") ? "open" : states.has("half-open") ? "half-open" : "closed";
  }

  const probe = createProbe(connection, guardOf, {
    name,
    logField,
    logger,
    readinessTimeoutMs,
    isStopped: () => stopping !== undefined,
    meta: () => ({
      breaker: worstState(),
      in_flight: [...guards.values()].reduce((sum, guard) => sum + guard.inFlight, 0),
    }),
  });

  function call(command: string, ...args: readonly CommandArgument[]): Promise<unknown> {
    const lower = command.toLowerCase();
    if (!REFUSED.has(lower) && !blocks(lower, args)) return run(lower, args);
    const why = "needs a dedicated connection; this one is shared";
    return Promise.reject(new CommandError(lower.toUpperCase(), why));
  }

  function run(command: string, args: readonly CommandArgument[]): Promise<unknown> {
    // After stop(), use the stopped guard instead of creating a guard for a new node.
    const server = stopping === undefined ? connection.serverOf(command, args) : ONLY;
    if (server === undefined) {
      emit("error");
      return Promise.reject(new CommandError(command.toUpperCase(), CROSSED));
    }
    return guardOf(server).run(connection.send, command, args, count);
  }

  function count(error: Error): void {
    if (!(error instanceof RedisUnavailableError)) return emit("error");
    emit("unavailable");
    if (error.reply !== undefined) reportTrouble(error.reply);
  }

  async function end(): Promise<void> {
    guardOf(ONLY);
    await Promise.all([...guards.values()].map((guard) => guard.stop()));
    connection.close();
  }

  const stop = (): Promise<void> => (stopping ??= end());

  return {
    call,
    eval: (script, numberOfKeys, ...rest) => call("eval", script, numberOfKeys, ...rest),
    evalsha: (sha, numberOfKeys, ...rest) => call("evalsha", sha, numberOfKeys, ...rest),
    exists: (...keys) => run("exists", keys) as Promise<number>,
    mget: (...keys) => run("mget", keys) as Promise<readonly (string | null)[]>,
    isCluster: connection.isCluster,
    commandTimeoutMs,
    name,
    readiness: () => probe.check,
    get state() {
      return worstState();
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Returns whether the command blocks until a stream has entries. */
function blocks(command: string, args: readonly CommandArgument[]): boolean {
  if (command !== "xread" && command !== "xreadgroup") return false;
  const words = args.map((each) => String(each).toLowerCase());
  const names = words.indexOf("streams");
  return words.slice(0, names === -1 ? undefined : names).includes("block");
}
