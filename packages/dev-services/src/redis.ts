import { dirname } from "node:path";
import { scratchFolder } from "./account.ts";
import { freePort } from "./free-port.ts";
import { withWatchdog } from "./lease.ts";
import { joinOrStart, writeWhole } from "./lock.ts";
import { redisCommands } from "./redis-command.ts";
import { requireProgram } from "./require-program.ts";
import { type ServerProcess, startServer } from "./server-process.ts";
import { isNamedRun } from "./test-run.ts";
import type { Charge } from "./watchdog.ts";

/** The options of {@link startRedis}. */
export interface RedisOptions {
  /** The port on 127.0.0.1. Default: a free one. */
  readonly port?: number | undefined;
  /** Whether the server is a cluster node, which serves no key before it joins a cluster. Default: false. */
  readonly clusterNode?: boolean | undefined;
}

/** A Redis server that keeps everything in memory: it is empty after a restart. */
export interface RedisServer extends ServerProcess {
  readonly url: string;
  /** The port of the cluster bus, over which nodes talk to each other; undefined without a cluster. */
  readonly busPort: number | undefined;
}

// The nodes have no replicas. A long timeout keeps one that a busy machine delays from failing the whole cluster.
const CLUSTER = { "cluster-enabled": "yes", "cluster-node-timeout": 15_000, databases: 1 };

/**
 * Starts a Redis (or Valkey) on 127.0.0.1. It ends when this process ends, even by SIGKILL.
 *
 * @throws NoServerError when no Redis is installed; Error when it does not start
 */
export function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  return launch(options, undefined);
}

/** Uses the server that `infoFile` describes, or starts one and writes that file. */
export async function joinRedis(
  infoFile: string,
  options: RedisOptions = {},
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const result = await joinOrStart(infoFile, () => launch(options, infoFile));
  if (!("lease" in result)) return result;
  return { url: result.info.url, stop: () => Promise.resolve(result.lease.release()) };
}

async function launch(options: RedisOptions, infoFile: string | undefined): Promise<RedisServer> {
  const program = requireProgram("redis");
  return withWatchdog(async (watchdog) => {
    const folder = scratchFolder("svc-redis-");
    const run = infoFile === undefined ? undefined : dirname(infoFile);
    const charge: Omit<Charge, "marker"> = {
      signal: "SIGTERM",
      remove: infoFile === undefined ? [folder] : [infoFile, folder],
      removeIfEmpty: run !== undefined && isNamedRun(run) ? run : undefined,
    };
    watchdog.watch({ ...charge, marker: folder });
    // The default bus port, 10,000 above the client port, may be out of range or taken.
    const busPort = options.clusterNode === true ? await freePort() : undefined;
    const start = {
      program,
      options: { cwd: folder, env: { LC_ALL: "C" } },
      port: options.port,
      args: (port: number) => {
        const settings = {
          port,
          bind: "127.0.0.1",
          save: "",
          appendonly: "no",
          databases: 1024,
          dir: folder,
        };
        const node = busPort === undefined ? {} : { ...CLUSTER, "cluster-port": busPort };
        return Object.entries({ ...settings, ...node }).flatMap(([name, value]) => [
          `--${name}`,
          String(value),
        ]);
      },
      // Redis replaces its command line with its address.
      watch: (pid: number, port: number) => watchdog.watch({ ...charge, pid, marker: `:${port}` }),
      answers: async (port: number) => {
        const [answer] = await redisCommands(`redis://127.0.0.1:${port}`, [["PING"]]).catch(() => []);
        return answer === "+PONG";
      },
    };
    const server = await startServer(start, watchdog);
    const { port } = server;
    const url = `redis://127.0.0.1:${port}`;
    const publish = (): void => {
      if (infoFile === undefined) return;
      const { pid } = server;
      writeWhole(infoFile, {
        url,
        folder,
        pid,
        port,
        leasePort: watchdog.port,
        version: "",
        source: program,
      });
    };
    publish();
    const restart = server.restart.bind(server);
    return Object.assign(server, {
      url,
      busPort,
      async restart() {
        await restart();
        publish();
      },
    });
  });
}
