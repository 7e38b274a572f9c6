import type { BreakerState } from "@svc/resilience";
import type { CommandArgument } from "./client.ts";
import { type Connection, ONLY } from "./connection.ts";
import { RedisUnavailableError } from "./errors.ts";
import { createGuard, type Guard } from "./guard.ts";
import type { RedisEvent, RedisOwner, ResolvedRedisOptions } from "./options.ts";
import { judgeFor } from "./outcome.ts";

/**
 * Redis commands that take at most `commandTimeoutMs`, and that reject at once while Redis is unavailable (REV-7, REV-8).
 * Keys get the prefix of the connection.
 *
 * They reject with `RedisUnavailableError` while Redis is unavailable, and with `RedisCommandError` when it rejects the
 * command as wrong.
 */
export interface GuardedRedis {
  /** Runs any command, for example `call("incr", "visits")`. In a cluster its keys must share a hash tag. */
  call(command: string, ...args: readonly CommandArgument[]): Promise<unknown>;
  eval(script: string, numberOfKeys: number, ...keysAndArgs: readonly CommandArgument[]): Promise<unknown>;
  evalsha(sha: string, numberOfKeys: number, ...keysAndArgs: readonly CommandArgument[]): Promise<unknown>;
  /** Returns how many of the keys exist. */
  exists(...keys: readonly string[]): Promise<number>;
  /** Returns the strings under several keys, null for a missing one. */
  mget(...keys: readonly string[]): Promise<readonly (string | null)[]>;
  /** Whether the keys are spread over several servers. */
  readonly isCluster: boolean;
  /** Deadline of a command in milliseconds. */
  readonly commandTimeoutMs: number;
}

/** The commands, and the state for the rest of the package. */
export interface Commands {
  readonly redis: GuardedRedis;
  /** Returns the guard of one server. */
  guardOf(server: string): Guard;
  /** Probes all servers whose breaker is open, because the connection is back. */
  probeNow(): void;
  stop(): Promise<void>;
  /** The worst state of all breakers, and the number of commands in flight. */
  readonly state: BreakerState;
  readonly inFlight: number;
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

export function createCommands(
  options: ResolvedRedisOptions,
  owner: RedisOwner,
  connection: Connection,
  events: {
    readonly emit: (event: RedisEvent) => void;
    readonly onBreaker: (to: BreakerState) => void;
    readonly onRefused: (word: string) => void;
  },
): Commands {
  const { UnavailableError, CommandError } = owner;
  const judge = judgeFor(owner);
  const guards = new Map<string, Guard>();

  function makeGuard(server: string): Guard {
    return createGuard({
      failures: options.breakerFailures,
      coolDownMs: options.breakerCoolDownMs,
      timeoutMs: options.commandTimeoutMs,
      maxInFlight: options.maxInFlight,
      now: options.now,
      onChange: events.onBreaker,
      judge,
      UnavailableError,
      probe: () => connection.probe(server),
    });
  }

  function guardOf(server: string): Guard {
    const known = guards.get(server);
    if (known !== undefined) return known;
    // The nodes of a cluster change, so drop the guards of idle ones.
    if (guards.size >= SERVERS_AT_MOST) {
      for (const [name, guard] of guards) if (guard.inFlight === 0 && name !== ONLY) guards.delete(name);
    }
    const guard = makeGuard(server);
    guards.set(server, guard);
    return guard;
  }

  let stopped = false;

  function call(command: string, ...args: readonly CommandArgument[]): Promise<unknown> {
    const name = command.toLowerCase();
    if (REFUSED.has(name) || blocks(name, args)) {
      const why = "needs a connection of its own; this one is shared";
      return Promise.reject(new CommandError(name.toUpperCase(), why));
    }
    return run(name, args);
  }

  function run(name: string, args: readonly CommandArgument[]): Promise<unknown> {
    // After stop() use the stopped guard, instead of creating one for a new node.
    const server = stopped ? ONLY : connection.serverOf(name, args);
    if (server === undefined) {
      events.emit("error");
      return Promise.reject(new CommandError(name.toUpperCase(), CROSSED));
    }
    return guardOf(server).run(connection.send, name, args, count);
  }

  function count(error: Error): void {
    if (!(error instanceof RedisUnavailableError)) return events.emit("error");
    events.emit("unavailable");
    if (error.reply !== undefined) events.onRefused(error.reply);
  }

  return {
    redis: {
      call,
      eval: (script, numberOfKeys, ...rest) => call("eval", script, numberOfKeys, ...rest),
      evalsha: (sha, numberOfKeys, ...rest) => call("evalsha", sha, numberOfKeys, ...rest),
      exists: (...keys) => run("exists", keys) as Promise<number>,
      mget: (...keys) => run("mget", keys) as Promise<readonly (string | null)[]>,
      isCluster: connection.isCluster,
      commandTimeoutMs: options.commandTimeoutMs,
    },
    probeNow() {
      for (const guard of guards.values()) guard.probeNow();
    },
    guardOf,
    async stop() {
      stopped = true;
      guardOf(ONLY);
      await Promise.all([...guards.values()].map((guard) => guard.stop()));
    },
    get state() {
      const states = new Set([...guards.values()].map(({ state }) => state));
      return states.has("open") ? "open" : states.has("half-open") ? "half-open" : "closed";
    },
    get inFlight() {
      return [...guards.values()].reduce((sum, guard) => sum + guard.inFlight, 0);
    },
  };
}

/** Returns whether the command blocks until a stream has entries. */
function blocks(name: string, args: readonly CommandArgument[]): boolean {
  if (name !== "xread" && name !== "xreadgroup") return false;
  const words = args.map((each) => String(each).toLowerCase());
  const names = words.indexOf("streams");
  return words.slice(0, names === -1 ? undefined : names).includes("block");
}
