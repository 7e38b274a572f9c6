import { spawn } from "node:child_process";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { scratchFolder } from "./account.ts";
import { freePort } from "./free-port.ts";
import { startWatchdog, type Watchdog } from "./lease.ts";
import { gone, pauseTree, signalTree } from "./processes.ts";
import { requireProgram } from "./require-program.ts";

/** The options of {@link startNats}. */
export interface NatsOptions {
  /** The port on 127.0.0.1. Default: a free one. */
  readonly port?: number | undefined;
  /** Whether the server has JetStream. Default: true. */
  readonly jetStream?: boolean | undefined;
  /** The only login that may connect; the URL contains it. Default: no login is needed. */
  readonly login?: { readonly user: string; readonly password: string } | undefined;
}

/** A NATS server that this process started. */
export interface NatsServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Freezes the server (SIGSTOP): connections stay open without an answer. */
  pause(): void;
  /** Resumes a frozen server. */
  resume(): void;
  /** Kills the server (SIGKILL). Resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts the server again on the same port with its stored data; ends it first if it runs. */
  restart(): Promise<void>;
  /** Ends the server and removes its data. */
  stop(): Promise<void>;
}

/**
 * Starts a NATS server, with JetStream, on 127.0.0.1. It ends when this process ends, even by SIGKILL.
 *
 * @throws NoServerError when no NATS is installed; Error when it does not start
 */
export async function startNats(options: NatsOptions = {}): Promise<NatsServer> {
  const program = requireProgram("nats");
  const watchdog = await startWatchdog();
  try {
    return await launched(program, options, watchdog);
  } catch (error) {
    await watchdog.finish();
    throw error;
  }
}

async function launched(program: string, options: NatsOptions, watchdog: Watchdog): Promise<NatsServer> {
  const { jetStream = true, login } = options;
  const folder = scratchFolder("svc-nats-");
  const charge = { signal: "SIGTERM", remove: [folder], marker: folder } as const;
  watchdog.watch(charge);
  let { pid, port } = await started(options.port);

  async function started(wanted?: number): Promise<{ pid: number; port: number }> {
    for (let attempt = 1; ; attempt++) {
      const at = wanted ?? (await freePort());
      const process = await spawned(at);
      if (process !== undefined) return { pid: process, port: at };
      if (wanted !== undefined || attempt === 5)
        throw new Error(`nats-server did not start on port ${at} of 127.0.0.1, which may be taken`);
    }
  }

  async function spawned(at: number): Promise<number | undefined> {
    // The command line always names the folder, which identifies the process.
    const args = ["-a", "127.0.0.1", "-p", String(at), "-sd", folder];
    if (jetStream) args.push("-js");
    if (login !== undefined) args.push("--user", login.user, "--pass", login.password);
    const child = spawn(program, args, { detached: true, stdio: "ignore", cwd: folder });
    child.on("error", () => undefined);
    if (child.pid === undefined) return undefined;
    watchdog.watch({ ...charge, pid: child.pid });
    child.unref();
    const end = performance.now() + 20_000;
    while (child.exitCode === null && child.signalCode === null && performance.now() < end) {
      if (await greets(at)) return child.pid;
      await sleep(5);
    }
    return undefined;
  }

  const user = login === undefined ? "" : `${encodeURIComponent(login.user)}:`;
  const password = login === undefined ? "" : `${encodeURIComponent(login.password)}@`;
  const server: NatsServer = {
    url: `nats://${user}${password}127.0.0.1:${port}`,
    port,
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
    },
    stop: () => watchdog.finish(),
    [Symbol.asyncDispose]: () => watchdog.finish(),
  };
  return server;
}

/** Returns whether a port answers like a NATS server, which sends `INFO` to every new connection. */
function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const answer = (yes: boolean): void => {
      socket.destroy();
      resolve(yes);
    };
    socket.on("error", () => answer(false));
    socket.once("data", (chunk: Buffer) => answer(chunk.toString("latin1").startsWith("INFO ")));
    socket.setTimeout(5000, () => answer(false));
  });
}
