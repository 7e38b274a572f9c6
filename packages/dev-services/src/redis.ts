import { freePort } from "./free-port.ts";
import { joinOrStart } from "./lock.ts";
import { redisCommands } from "./redis-command.ts";
import { type ServerPlace, type ServerProcess, startServer } from "./server-process.ts";

/** The options of {@link startRedis}. */
export interface RedisOptions {
  /** The port on 127.0.0.1. Default: a free port. */
  readonly port?: number | undefined;
  /** Whether the server is a cluster node, which serves no key before it joins a cluster. Default: false. */
  readonly clusterNode?: boolean | undefined;
  /** A folder that keeps the data. Default: all data are in memory, so that the server is empty after a restart. */
  readonly dataDir?: string | undefined;
}

/** A Redis server. */
export interface RedisServer extends ServerProcess {
  /** Port of the cluster bus, over which nodes communicate; undefined without a cluster. */
  readonly busPort: number | undefined;
}

// The nodes have no replicas, so the failure of a node fails the whole cluster. The long timeout prevents that when a
// busy machine delays a node.
const CLUSTER = { "cluster-enabled": "yes", "cluster-node-timeout": 15_000, databases: 1 };

/**
 * Starts a Redis or Valkey server on 127.0.0.1. It stops when this process ends, even by SIGKILL.
 *
 * @throws NoServerError if Redis is not installed; Error if the server does not start
 */
export async function startRedis({
  clusterNode = false,
  dataDir,
  ...place
}: RedisOptions & ServerPlace = {}): Promise<RedisServer> {
  // Choose the bus port, because the default (client port + 10,000) may be out of range or taken.
  const busPort = clusterNode ? await freePort() : undefined;
  const server = await startServer(
    {
      program: "redis",
      env: { LC_ALL: "C" },
      args(port, dir) {
        const own = { port, bind: "127.0.0.1", appendonly: "no", databases: 1024 };
        const settings = { ...own, save: dataDir === undefined ? "" : "60 1", dir: dataDir ?? dir };
        const node = busPort === undefined ? {} : { ...CLUSTER, "cluster-port": busPort };
        return Object.entries({ ...settings, ...node }).flatMap(([name, value]) => [`--${name}`, `${value}`]);
      },
      // Redis replaces its command line with a title that contains its address.
      marker: (port) => `:${port}`,
      signal: "SIGTERM",
      url: (port) => `redis://127.0.0.1:${port}`,
      async answers(port) {
        const [answer] = await redisCommands(`redis://127.0.0.1:${port}`, [["PING"]]).catch(() => []);
        return answer === "+PONG";
      },
    },
    place,
  );
  return Object.assign(server, { busPort });
}

/** Joins the server that `infoFile` describes, or starts one and writes that file. */
export async function joinRedis(infoFile: string): Promise<Pick<RedisServer, "url" | "stop">> {
  const result = await joinOrStart(infoFile, () => startRedis({ infoFile }));
  if (!("lease" in result)) return result;
  return { url: result.info.url, stop: () => Promise.resolve(result.lease.release()) };
}
