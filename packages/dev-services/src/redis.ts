import { spawn } from "node:child_process";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { scratchFolder } from "./account.ts";
import { freePort } from "./free-port.ts";
import { startWatchdog, type Watchdog } from "./lease.ts";
import { joinOrStart, writeWhole } from "./lock.ts";
import { gone, pauseTree, signalTree } from "./processes.ts";
import { redisCommands } from "./redis-command.ts";
import { requireProgram } from "./require-program.ts";
import { isNamedRun } from "./test-run.ts";
import type { Charge } from "./watchdog.ts";

/** The options of {@link startRedis}. */
export interface RedisOptions {
  /** The port on 127.0.0.1. Default: a free one. */
  readonly port?: number | undefined;
  /** Whether the server is a cluster node, which serves no key before it joins a cluster. Default: false. */
  readonly clusterNode?: boolean | undefined;
}

/** A Redis server that keeps everything in memory. */
export interface RedisServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The port of the cluster bus, over which nodes talk to each other; undefined without a cluster. */
  readonly busPort: number | undefined;
  readonly pid: number;
  /** Freezes the server (SIGSTOP): connections stay open without an answer. */
  pause(): void;
  /** Resumes a frozen server. */
  resume(): void;
  /** Kills the server (SIGKILL). Resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts the server again on the same port, empty; ends it first if it runs. */
  restart(): Promise<void>;
  /** Stops the server, or only releases it while other processes use it. */
  stop(): Promise<void>;
}

// The nodes have no replicas. A long timeout keeps one that a busy machine delays from failing the whole cluster.
const CLUSTER = { "cluster-enabled": "yes", "cluster-node-timeout": "15000", databases: "1" };

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
  const watchdog = await startWatchdog();
  try {
    return await launched(program, options, watchdog, infoFile);
  } catch (error) {
    watchdog.release();
    throw error;
  }
}

async function launched(
  program: string,
  options: RedisOptions,
  watchdog: Watchdog,
  infoFile: string | undefined,
): Promise<RedisServer> {
  const folder = scratchFolder("svc-redis-");
  const run = infoFile === undefined ? undefined : dirname(infoFile);
  const base: Omit<Charge, "marker"> = {
    signal: "SIGTERM",
    remove: infoFile === undefined ? [folder] : [infoFile, folder],
    removeIfEmpty: run !== undefined && isNamedRun(run) ? run : undefined,
  };
  watchdog.watch({ ...base, marker: folder });
  let busPort: number | undefined;
  let { pid, port } = await started(options.port);

  async function started(wanted?: number): Promise<{ pid: number; port: number }> {
    for (let attempt = 1; ; attempt++) {
      const at = wanted ?? (await freePort());
      const process = await spawned(at);
      if (process !== undefined) return { pid: process, port: at };
      if (wanted !== undefined || attempt === 5)
        throw new Error(`${program} did not start on port ${at} of 127.0.0.1, which may be taken`);
    }
  }

  async function spawned(at: number): Promise<number | undefined> {
    const settings = { port: String(at), bind: "127.0.0.1", save: "", appendonly: "no", databases: "1024" };
    // The default bus port, 10,000 above the client port, may be out of range or taken.
    if (options.clusterNode === true) busPort ??= await freePort();
    const more = busPort === undefined ? {} : { ...CLUSTER, "cluster-port": String(busPort) };
    const args = Object.entries({ ...settings, ...more, dir: folder }).flatMap(([name, value]) => [
      `--${name}`,
      value,
    ]);
    const child = spawn(program, args, {
      detached: true,
      stdio: "ignore",
      cwd: folder,
      env: { LC_ALL: "C" },
    });
    if (child.pid === undefined) return undefined;
    // Redis replaces its command line with its address.
    watchdog.watch({ ...base, pid: child.pid, marker: `:${at}` });
    child.unref();
    const end = performance.now() + 20_000;
    while (child.exitCode === null && child.signalCode === null && performance.now() < end) {
      const answer = await redisCommands(`redis://127.0.0.1:${at}`, [["PING"]]).catch(() => []);
      if (answer[0] === "+PONG" && child.exitCode === null) return child.pid;
      await sleep(5);
    }
    return undefined;
  }

  const url = `redis://127.0.0.1:${port}`;
  const tell = (): void => {
    if (infoFile === undefined) return;
    writeWhole(infoFile, { url, folder, pid, port, leasePort: watchdog.port, version: "", source: program });
  };
  tell();
  const server: RedisServer = {
    url,
    port,
    get busPort() {
      return busPort;
    },
    get pid() {
      return pid;
    },
    pause: () => pauseTree(pid),
    resume: () => void signalTree(pid, "SIGCONT"),
    async kill() {
      await gone(signalTree(pid, "SIGKILL"), 10_000);
    },
    async restart() {
      await server.kill();
      ({ pid, port } = await started(port));
      tell();
    },
    stop: () => watchdog.finish(),
    [Symbol.asyncDispose]: () => watchdog.finish(),
  };
  return server;
}
