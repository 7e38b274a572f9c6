import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Charge } from "./watchdog.ts";

/** Keeps a server running until the lease is released, at the latest when this process ends. */
export interface Lease {
  release(): void;
}

/** The lease of the process that starts a server. The watchdog stops the server once all leases are released. */
export interface Watchdog extends Lease {
  /** The port on which other processes acquire leases. */
  readonly port: number;
  /**
   * Sends the watchdog the process id of the server to stop and the paths to remove afterwards. The data is in the pipe
   * when the call returns.
   */
  watch(charge: Charge): void;
  /** Releases the lease. Resolves when the server has stopped, or immediately if another lease keeps it running. */
  finish(): Promise<void>;
}

/** Starts a watchdog, which does not keep this process's event loop running. */
async function startWatchdog(): Promise<Watchdog> {
  const file = new URL(import.meta.url.endsWith(".ts") ? "./watchdog.ts" : "./watchdog.js", import.meta.url);
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", fileURLToPath(file)], {
    detached: true,
    stdio: ["pipe", "pipe", "ignore"],
    cwd: tmpdir(),
    // The watchdog outlives this process, so `NODE_COMPILE_CACHE` is the only variable that it inherits.
    env: process.platform === "win32" ? process.env : { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    windowsHide: true,
  });
  child.stdin.on("error", () => undefined);
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`the watchdog of a server ended with code ${code} before it was ready`);
  });
  const [line] = (await Promise.race([once(lines, "line"), ended])) as [string];
  ended.catch(() => undefined);
  const pipes = [child.stdin, child.stdout] as unknown as readonly Socket[];
  const keepUs = (yes: boolean): void => {
    for (const each of [child, ...pipes]) each[yes ? "ref" : "unref"]();
  };
  keepUs(false);
  return {
    port: Number(line),
    watch: (charge) => void child.stdin.write(`${JSON.stringify(charge)}\n`),
    release: () => void child.stdin.end(),
    async finish() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      keepUs(true);
      const done = Promise.race([once(lines, "line"), once(child, "exit")]);
      child.stdin.end();
      await done;
      keepUs(false);
    },
  };
}

/** Starts a server under a new watchdog. If the start fails, the watchdog stops the server and removes its files. */
export async function withWatchdog<Server>(start: (watchdog: Watchdog) => Promise<Server>): Promise<Server> {
  const watchdog = await startWatchdog();
  try {
    return await start(watchdog);
  } catch (error) {
    await watchdog.finish();
    throw error;
  }
}

/** Acquires a lease from the watchdog on a port; undefined if that watchdog has ended. */
export function takeLease(port: number): Promise<Lease | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("error", () => resolve(undefined));
    socket.on("close", () => resolve(undefined));
    socket.setTimeout(5000, () => socket.destroy());
    socket.once("data", () => {
      socket.setTimeout(0);
      socket.unref();
      resolve({ release: () => void socket.destroy() });
    });
  });
}
