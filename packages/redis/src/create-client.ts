import { backoff } from "@svc/resilience";
import { Cluster, Redis, type RedisOptions as IoredisOptions } from "ioredis";
import type { ResolvedRedisOptions } from "./options.ts";

const RECONNECT_EVERY_MS = 5000;

/** Creates the ioredis client, with settings that keep it from delaying commands. */
export function createClient(options: ResolvedRedisOptions): Redis | Cluster {
  const { url, cluster, connection, keyPrefix, connectTimeoutMs, commandTimeoutMs, now } = options;
  // The guard sets the deadline of a command. `longest` only bounds waits that ioredis would not limit. It is long,
  // because ioredis cannot distinguish a stall of this process from a stall of Redis.
  const longest = Math.max(3000, 3 * Math.ceil(commandTimeoutMs));
  const retryStrategy = backoff({ baseMs: 200, minMs: 200, maxMs: 2000 });
  const common = {
    // Time for the server to close the connection, in milliseconds. Until then, the process cannot exit.
    disconnectTimeout: 100,
    ...connection,
    connectTimeout: Math.ceil(connectTimeoutMs),
    socketTimeout: longest,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // ioredis's ready check sends INFO, so the client would never become ready on a host that disables INFO.
    enableReadyCheck: false,
  } satisfies IoredisOptions;
  if (cluster !== undefined) {
    const seeds = cluster.map(({ host, port = 6379 }) => ({ host, port }));
    return new Cluster(seeds, {
      clusterRetryStrategy: retryStrategy,
      // Leave the DNS lookup to each connection. Otherwise ioredis would use no seed if one seed name did not resolve.
      dnsLookup: (host, found) => found(null, host),
      enableOfflineQueue: false,
      enableReadyCheck: false,
      enableAutoPipelining: true,
      keyPrefix,
      maxRedirections: 5,
      slotsRefreshTimeout: Math.ceil(connectTimeoutMs),
      // The socket timeout does not cover a command that is redirected from node to node.
      redisOptions: { ...common, commandTimeout: longest },
    });
  }
  let reconnectAfter = -Infinity;
  const settings = {
    ...common,
    keyPrefix,
    retryStrategy,
    enableOfflineQueue: false,
    // Reconnect on READONLY: after a failover the host name may lead to the new primary. The interval limits reconnects
    // when it leads to a permanent replica.
    reconnectOnError(error: Error): 1 | false {
      if (!error.message.startsWith("READONLY") || now() < reconnectAfter) return false;
      reconnectAfter = now() + RECONNECT_EVERY_MS;
      return 1;
    },
  };
  return url === undefined ? new Redis(settings) : new Redis(url, settings);
}
