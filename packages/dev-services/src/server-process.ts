import { spawn, type SpawnOptions } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";
import type { Watchdog } from "./lease.ts";
import { type Faults, faultsOf } from "./processes.ts";

/** A server on 127.0.0.1 that this process started. */
export interface ServerProcess extends Faults, AsyncDisposable {
  readonly port: number;
  readonly pid: number;
  /** Starts the server again on the same port; kills it first if it runs. */
  restart(): Promise<void>;
  /** Ends the server and removes its files, or only releases it while other processes use it. */
  stop(): Promise<void>;
}

/** How one kind of server is started. */
export interface ServerStart {
  readonly program: string;
  readonly options?: SpawnOptions | undefined;
  /** The wanted port. Default: a free one; another one is tried when a process takes it first. */
  readonly port: number | undefined;
  readonly args: (port: number) => readonly string[];
  /** Tells the watchdog which process to end. */
  readonly watch: (pid: number, port: number) => void;
  /** Returns whether the server on a port answers. */
  readonly answers: (port: number) => Promise<boolean>;
}

/**
 * Starts a server and waits until it answers, at most 20 seconds.
 *
 * @throws Error when the process ends or does not answer
 */
export async function startServer(start: ServerStart, watchdog: Watchdog): Promise<ServerProcess> {
  let { pid, port } = await launch(start, start.port);
  const server: ServerProcess = {
    port,
    get pid() {
      return pid;
    },
    ...faultsOf(() => pid),
    async restart() {
      await server.kill();
      ({ pid, port } = await launch(start, port));
    },
    stop: () => watchdog.finish(),
    [Symbol.asyncDispose]: () => watchdog.finish(),
  };
  return server;
}

async function launch(
  start: ServerStart,
  wanted: number | undefined,
): Promise<{ pid: number; port: number }> {
  for (let attempt = 1; ; attempt++) {
    const port = wanted ?? (await freePort());
    const { pid, cause } = await launchOn(start, port);
    if (pid !== undefined) return { pid, port };
    if (wanted !== undefined || attempt === 5) {
      const message = `${start.program} did not start on port ${port} of 127.0.0.1, which may be taken`;
      throw new Error(message, { cause });
    }
  }
}

async function launchOn(
  { program, options, args, watch, answers }: ServerStart,
  port: number,
): Promise<{ readonly pid?: number; readonly cause?: Error | undefined }> {
  const child = spawn(program, args(port), { detached: true, stdio: "ignore", ...options });
  let cause: Error | undefined;
  child.on("error", (error) => void (cause = error));
  const { pid } = child;
  if (pid !== undefined) watch(pid, port);
  child.unref();
  const isRunning = (): boolean => pid !== undefined && child.exitCode === null && child.signalCode === null;
  const end = performance.now() + 20_000;
  while (isRunning() && performance.now() < end) {
    // The answer may come from another process that took the port.
    if ((await answers(port)) && isRunning()) return pid === undefined ? {} : { pid };
    await sleep(5);
  }
  return { cause };
}
