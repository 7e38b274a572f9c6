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

/** What {@link startRedis} takes. */
export interface RedisOptions {
  /** The port on 127.0.0.1. Default: a free one. */
  readonly port?: number | undefined;
  /** Whether it is a node for a cluster. It serves nothing before it belongs to one. Default: false. */
  readonly clusterNode?: boolean | undefined;
}

/** A Redis server of our own that keeps everything in memory. */
export interface RedisServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The port on which the nodes of a cluster talk to each other; undefined without a cluster. */
  readonly busPort: number | undefined;
  readonly pid: number;
  /** Stops it where it is (SIGSTOP): it hangs. */
  pause(): void;
  /** Lets a paused server go on. */
  resume(): void;
  /** Ends it at once (SIGKILL). Resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same port, empty; ends it before when it runs. */
  restart(): Promise<void>;
  /** Stops it, or when other processes use it too only lets go of it. */
  stop(): Promise<void>;
}

// Nobody takes over from a node of ours: one that a busy machine holds up is not to be given up by the others, for all slots.
const CLUSTER = { "cluster-enabled": "yes", "cluster-node-timeout": "15000", databases: "1" };

/**
 * Starts a Redis (or Valkey) on 127.0.0.1. It ends when this process ends, however it ends.
 *
 * @throws NoServerError when there is none to start; Error when it does not start
 */
export function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  return launch(options, undefined);
}

/** Uses the server that `infoFile` tells about; starts it, and writes that file, when there is none. */
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
    // Its usual bus port, 10,000 above the other, may be out of range or taken.
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
    // Redis shows its address where its command line was.
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
