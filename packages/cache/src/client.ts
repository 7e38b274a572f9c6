import { backoff } from "@svc/resilience";
import { Cluster, Redis, type RedisOptions } from "ioredis";
import type { ResolvedOptions } from "./options.ts";

const RECONNECT_EVERY_MS = 5000;

/** The client of ioredis, with settings that never let a command wait for long. */
export function makeClient(options: ResolvedOptions): Redis | Cluster {
  const { url, cluster, connection, keyPrefix, connectTimeoutMs, commandTimeoutMs, now } = options;
  // The deadline of a command is the gate's. These end what ioredis would wait for without an end; they cannot tell a stall of
  // this process from one of Redis, so they are long.
  const longest = Math.max(3000, 3 * Math.ceil(commandTimeoutMs));
  const retryStrategy = backoff({ baseMs: 200, minMs: 200, maxMs: 2000 });
  const common = {
    // How long the other side may take to close; until then the process stays alive.
    disconnectTimeout: 100,
    ...connection,
    connectTimeout: Math.ceil(connectTimeoutMs),
    socketTimeout: longest,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // It sends INFO, which some hosts do not have: they would never be ready.
    enableReadyCheck: false,
  } satisfies RedisOptions;
  if (cluster !== undefined) {
    const seeds = cluster.map(({ host, port = 6379 }) => ({ host, port }));
    return new Cluster(seeds, {
      clusterRetryStrategy: retryStrategy,
      // Names are looked up when they are connected to: ioredis would use no node where one of the names leads nowhere.
      dnsLookup: (host, found) => found(null, host),
      enableOfflineQueue: false,
      enableReadyCheck: false,
      enableAutoPipelining: true,
      keyPrefix,
      maxRedirections: 5,
      slotsRefreshTimeout: Math.ceil(connectTimeoutMs),
      // A command that goes from node to node waits for no socket.
      redisOptions: { ...common, commandTimeout: longest },
    });
  }
  let reconnectAfter = -Infinity;
  const settings = {
    ...common,
    keyPrefix,
    retryStrategy,
    enableOfflineQueue: false,
    // After a failover the name may lead to another server. A replica that is there for good is not asked all the time.
    reconnectOnError(error: Error): 1 | false {
      if (!error.message.startsWith("READONLY") || now() < reconnectAfter) return false;
      reconnectAfter = now() + RECONNECT_EVERY_MS;
      return 1;
    },
  };
  return url === undefined ? new Redis(settings) : new Redis(url, settings);
}
