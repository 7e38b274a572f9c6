import { backoff } from "@svc/resilience";
import { Cluster, Command, Redis, type RedisOptions } from "ioredis";
import { connectionWord } from "./errors.ts";
import type { ResolvedOptions } from "./options.ts";
import { slotOf } from "./slot.ts";

/** What a command takes. */
export type CommandArgument = string | number | Buffer;

/** One server to ask directly. */
export interface Server {
  call(command: string, ...args: CommandArgument[]): Promise<unknown>;
}

/** A server of a cluster; undefined when there is no connection to it. */
export interface NamedServer {
  readonly name: string;
  readonly server: Server | undefined;
}

/** Thrown by {@link Connection.send} where there is nothing to send on. */
export class NotConnectedError extends Error {
  override readonly name = "NotConnectedError";
}

export interface Connection {
  /**
   * Sends a command. While the first try to connect after the start or after a loss is under way it waits for the
   * outcome, otherwise it needs a connection at once.
   */
  send(command: string, args: readonly CommandArgument[], isWanted: () => boolean): Promise<unknown>;
  /**
   * Which server is to carry out a command; undefined where its keys lie in several slots. ioredis would refuse all that
   * travels together with such a command.
   */
  serverOf(command: string, args: readonly CommandArgument[]): string | undefined;
  /** The servers of a cluster that hold keys; none outside of a cluster, and while the cluster is not known. */
  servers(): readonly NamedServer[];
  /** A word about the last failure of a connection. */
  readonly lastFailure: string | undefined;
  close(): void;
}

/** Told about the connection as a whole. */
export interface ConnectionEvents {
  readonly onReady: () => void;
  readonly onFailure: (word: string) => void;
}

export const ONLY = "only";
const RECONNECT_EVERY_MS = 5000;

export function openConnection(options: ResolvedOptions, events: ConnectionEvents): Connection {
  const client = makeClient(options);
  const waiters = new Set<(connected: boolean) => void>();
  let up = false;
  // Whether the first try after the start or after a loss is still under way.
  let hoping = true;
  let closed = false;
  let lastFailure: string | undefined;

  function settle(connected: boolean): void {
    const all = [...waiters];
    waiters.clear();
    for (const tell of all) tell(connected);
  }

  function failed(error: unknown): void {
    lastFailure = connectionWord(error);
    if (!closed) events.onFailure(lastFailure);
  }

  client.on("error", failed);
  client.on("ready", () => {
    up = true;
    hoping = true;
    lastFailure = undefined;
    settle(true);
    events.onReady();
  });
  client.on("close", () => {
    if (up) {
      up = false;
      return;
    }
    hoping = false;
    settle(false);
  });
  client.on("end", () => {
    hoping = false;
    settle(false);
  });
  if (client instanceof Cluster)
    client.on("node error", (error: unknown) => (lastFailure = connectionWord(error)));

  function slotsOf(command: string, args: readonly CommandArgument[]): ReadonlySet<number> {
    const { keyPrefix } = options;
    const keys = new Command(command, [...args], { keyPrefix }).getKeys();
    return new Set(keys.map((key) => slotOf(String(key))));
  }

  return {
    send(command, args, isWanted) {
      if (client.status === "ready") return client.call(command, ...args);
      if (!hoping) return Promise.reject(new NotConnectedError());
      return new Promise((resolve, reject) => {
        waiters.add((connected) => {
          if (!connected || !isWanted()) reject(new NotConnectedError());
          else client.call(command, ...args).then(resolve, reject);
        });
      });
    },
    serverOf(command, args) {
      if (!(client instanceof Cluster)) return ONLY;
      const [slot, ...others] = slotsOf(command, args);
      if (others.length > 0) return undefined;
      return (slot === undefined ? undefined : client.slots[slot]?.[0]) ?? ONLY;
    },
    servers() {
      if (!(client instanceof Cluster)) return [];
      const masters = new Map<string, Redis>(
        client.nodes("master").map((node) => [`${node.options.host}:${node.options.port}`, node] as const),
      );
      const names = new Set(client.slots.map((nodes) => nodes[0] ?? ""));
      return [...names].map((name) => ({ name, server: masters.get(name) }));
    },
    get lastFailure() {
      return lastFailure;
    },
    close() {
      closed = true;
      client.disconnect();
    },
  };
}

function makeClient(options: ResolvedOptions): Redis | Cluster {
  const { url, cluster, connection, keyPrefix, connectTimeoutMs, commandTimeoutMs, now } = options;
  const retryStrategy = backoff({ baseMs: 200, minMs: 200, maxMs: 2000 });
  const common = {
    ...connection,
    connectTimeout: Math.ceil(connectTimeoutMs),
    // The deadline of a command is the gate's. This one is later, and ends what ioredis would wait for without an end.
    commandTimeout: Math.ceil(commandTimeoutMs) + 500,
    socketTimeout: 3 * Math.ceil(commandTimeoutMs),
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // It sends INFO, which some hosts do not have: they would never be ready.
    enableReadyCheck: false,
  } satisfies RedisOptions;
  if (cluster !== undefined) {
    const seeds = cluster.map(({ host, port = 6379 }) => ({ host, port }));
    return new Cluster(seeds, {
      clusterRetryStrategy: retryStrategy,
      enableOfflineQueue: false,
      enableReadyCheck: false,
      enableAutoPipelining: true,
      keyPrefix,
      maxRedirections: 5,
      slotsRefreshTimeout: Math.ceil(connectTimeoutMs),
      redisOptions: common,
    });
  }
  let reconnectAfter = -Infinity;
  const settings = {
    ...common,
    keyPrefix,
    retryStrategy,
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    // After a failover the name may lead to another server. A replica that is there for good is not asked all the time.
    reconnectOnError(error: Error): 1 | false {
      if (!error.message.startsWith("READONLY") || now() < reconnectAfter) return false;
      reconnectAfter = now() + RECONNECT_EVERY_MS;
      return 1;
    },
  };
  return url === undefined ? new Redis(settings) : new Redis(url, settings);
}
