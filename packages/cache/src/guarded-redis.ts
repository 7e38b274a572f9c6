import type { BreakerState } from "@svc/resilience";
import { type CommandArgument, type Connection, ONLY } from "./connection.ts";
import { CacheCommandError, CacheUnavailableError } from "./errors.ts";
import type { CacheEvent } from "./events.ts";
import { createGate, type Gate } from "./gate.ts";
import { judge } from "./judge.ts";
import type { ResolvedOptions } from "./options.ts";

/**
 * Commands of Redis that never wait longer than `commandTimeoutMs`, and that are rejected at once while Redis is of no use
 * (REV-7, REV-8). Keys get the prefix of the cache.
 *
 * All reject with `CacheUnavailableError` when Redis is of no use, and with `CacheCommandError` when it says that the
 * command is wrong.
 */
export interface GuardedRedis {
  /** Any command, for example `call("incr", "visits")`. In a cluster all keys of one command must share a hash tag. */
  call(command: string, ...args: readonly CommandArgument[]): Promise<unknown>;
  eval(script: string, numberOfKeys: number, ...keysAndArgs: readonly CommandArgument[]): Promise<unknown>;
  evalsha(sha: string, numberOfKeys: number, ...keysAndArgs: readonly CommandArgument[]): Promise<unknown>;
  /** How many of the keys exist. */
  exists(...keys: readonly string[]): Promise<number>;
  /** The texts under several keys, null where there is none. */
  mget(...keys: readonly string[]): Promise<readonly (string | null)[]>;
  /** Whether keys live on several servers. */
  readonly isCluster: boolean;
  /** How long any of them takes at most. */
  readonly commandTimeoutMs: number;
}

/** What the other parts of the package use of it. */
export interface Guard {
  readonly redis: GuardedRedis;
  gateOf(server: string): Gate;
  /** The connection is there again. */
  hope(): void;
  stop(): Promise<void>;
  /** The worst state of all breakers, and how many commands wait. */
  readonly state: BreakerState;
  readonly inFlight: number;
}

// They change the connection that all share, or hold it up.
const REFUSED: ReadonlySet<string> = new Set(
  (
    "subscribe psubscribe ssubscribe unsubscribe punsubscribe sunsubscribe monitor multi exec discard watch " +
    "unwatch select quit auth hello reset client wait waitaof sync psync shutdown blpop brpop brpoplpush blmove " +
    "blmpop bzpopmin bzpopmax bzmpop readonly readwrite asking"
  ).split(" "),
);
const CROSSED = "CROSSSLOT the keys of a command must share a hash tag in a cluster";
const SERVERS_AT_MOST = 1000;

export function createGuard(
  options: ResolvedOptions,
  connection: Connection,
  events: {
    readonly emit: (event: CacheEvent) => void;
    readonly onBreaker: (to: BreakerState) => void;
    readonly onRefused: (word: string) => void;
  },
): Guard {
  const gates = new Map<string, Gate>();

  function makeGate(server: string): Gate {
    return createGate({
      failures: options.breakerFailures,
      coolDownMs: options.breakerCoolDownMs,
      timeoutMs: options.commandTimeoutMs,
      maxInFlight: options.maxInFlight,
      now: options.now,
      onChange: events.onBreaker,
      judge,
      probe: () => connection.probe(server),
    });
  }

  function gateOf(server: string): Gate {
    const known = gates.get(server);
    if (known !== undefined) return known;
    // The nodes of a cluster come and go; idle ones make room.
    if (gates.size >= SERVERS_AT_MOST) {
      for (const [name, gate] of gates) if (gate.inFlight === 0 && name !== ONLY) gates.delete(name);
    }
    const gate = makeGate(server);
    gates.set(server, gate);
    return gate;
  }

  let stopped = false;

  function call(command: string, ...args: readonly CommandArgument[]): Promise<unknown> {
    const name = command.toLowerCase();
    if (REFUSED.has(name) || waits(name, args)) {
      const why = "needs a connection of its own; this one is shared";
      return Promise.reject(new CacheCommandError(name.toUpperCase(), why));
    }
    return run(name, args);
  }

  function run(name: string, args: readonly CommandArgument[]): Promise<unknown> {
    // In a cluster a gate of a new node could come after all others were stopped.
    const server = stopped ? ONLY : connection.serverOf(name, args);
    if (server === undefined) {
      events.emit("error");
      return Promise.reject(new CacheCommandError(name.toUpperCase(), CROSSED));
    }
    return gateOf(server).run(connection.send, name, args, count);
  }

  function count(error: Error): void {
    if (!(error instanceof CacheUnavailableError)) return events.emit("error");
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
      isCluster: options.cluster !== undefined,
      commandTimeoutMs: options.commandTimeoutMs,
    },
    hope() {
      for (const gate of gates.values()) gate.hope();
    },
    gateOf,
    async stop() {
      stopped = true;
      gateOf(ONLY);
      await Promise.all([...gates.values()].map((gate) => gate.stop()));
    },
    get state() {
      const states = new Set([...gates.values()].map(({ state }) => state));
      return states.has("open") ? "open" : states.has("half-open") ? "half-open" : "closed";
    },
    get inFlight() {
      return [...gates.values()].reduce((sum, gate) => sum + gate.inFlight, 0);
    },
  };
}

/** Whether it waits for entries of a stream. */
function waits(name: string, args: readonly CommandArgument[]): boolean {
  if (name !== "xread" && name !== "xreadgroup") return false;
  const words = args.map((each) => String(each).toLowerCase());
  const names = words.indexOf("streams");
  return words.slice(0, names === -1 ? undefined : names).includes("block");
}
