import { spawn } from "node:child_process";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { scratchFolder } from "./account.ts";
import { onFreePort } from "./free-port.ts";
import { withWatchdog } from "./lease.ts";
import { writeWhole } from "./lock.ts";
import { type Faults, faultsOf } from "./processes.ts";
import type { Program, ProgramName } from "./programs.ts";
import { requireProgram } from "./require-program.ts";
import { removalOf } from "./test-run.ts";

/** A server on 127.0.0.1 that this process started. */
export interface ServerProcess extends Faults, AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Starts the server again on the same port; kills it first if it runs. */
  restart(): Promise<void>;
  /** Stops the server and removes its files, or only releases it while other processes use it. */
  stop(): Promise<void>;
}

/** Describes how to start a type of server. */
export interface ServerKind {
  readonly program: ProgramName | Program;
  /** Environment of the server. Default: this process's environment. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** @param folder the server's working folder, which is removed after it stops */
  readonly args: (port: number, folder: string) => readonly string[];
  /** A part of the command line that identifies the server. Default: the path of its folder. */
  readonly marker?: (port: number) => string;
  /** The signal that stops the server. */
  readonly signal: NodeJS.Signals;
  readonly url: (port: number) => string;
  /** Returns whether the server on a port responds. Default: whether it accepts a connection. */
  readonly answers?: (port: number) => Promise<boolean>;
}

/** The port on which to start a server, and whether other processes share it. */
export interface ServerPlace {
  /** The port on 127.0.0.1. Default: a free port; another one is tried if a process takes it first. */
  readonly port?: number | undefined;
  /** The file that describes the server to other processes. Default: the server is not shared. */
  readonly infoFile?: string | undefined;
}

/**
 * Starts a server and waits until it responds, at most 20 seconds. It stops when this process ends, even by SIGKILL.
 *
 * @throws NoServerError if the program is not installed; Error if the process ends or does not respond
 */
export async function startServer(
  kind: ServerKind,
  { port: wanted, infoFile }: ServerPlace = {},
): Promise<ServerProcess> {
  const program = requireProgram(kind.program);
  return withWatchdog(async (watchdog) => {
    const name = typeof kind.program === "string" ? kind.program : kind.program.files[0];
    const folder = scratchFolder(`svc-${name}-`);
    const charge = { signal: kind.signal, marker: folder, ...removalOf(folder, infoFile) };
    watchdog.watch(charge);
    const launch = (at?: number): Promise<Launched> =>
      onFreePort(at, (port) =>
        launchOn(program, kind, folder, port, (pid) =>
          watchdog.watch({ ...charge, pid, marker: kind.marker?.(port) ?? folder }),
        ),
      );
    let { pid, port } = await launch(wanted);
    const publish = (): void => {
      if (infoFile === undefined) return;
      const { url } = server;
      const leasePort = watchdog.port;
      writeWhole(infoFile, { url, folder, pid, port, leasePort, version: "", source: program });
    };
    const server: ServerProcess = {
      url: kind.url(port),
      port,
      get pid() {
        return pid;
      },
      ...faultsOf(() => pid),
      async restart() {
        await server.kill();
        ({ pid, port } = await launch(port));
        publish();
      },
      stop: () => watchdog.finish(),
      [Symbol.asyncDispose]: () => watchdog.finish(),
    };
    publish();
    return server;
  });
}

interface Launched {
  readonly pid: number;
  readonly port: number;
}

async function launchOn(
  program: string,
  { env, args, answers = listens }: ServerKind,
  folder: string,
  port: number,
  watch: (pid: number) => void,
): Promise<Launched> {
  const child = spawn(program, args(port, folder), { detached: true, stdio: "ignore", cwd: folder, env });
  let cause: Error | undefined;
  child.on("error", (error) => void (cause = error));
  const { pid } = child;
  if (pid !== undefined) watch(pid);
  child.unref();
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  const end = performance.now() + 20_000;
  while (pid !== undefined && isRunning() && performance.now() < end) {
    // Check `isRunning` again, because the response may come from another process that took the port.
    if ((await answers(port)) && isRunning()) return { pid, port };
    await sleep(5);
  }
  const message = `${program} did not start on port ${port} of 127.0.0.1, which may be taken`;
  throw new Error(message, { cause });
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
