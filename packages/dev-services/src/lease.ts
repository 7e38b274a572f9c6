import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Charge } from "./watchdog.ts";

/** Keeps a server alive as long as it is held; a process that dies lets go of it. */
export interface Lease {
  release(): void;
}

/** The lease of whoever starts a server, with a watchdog that ends the server when all leases are gone. */
export interface Watchdog extends Lease {
  /** The port on which others take leases. */
  readonly port: number;
  /** Says what is to be ended, and what is to be removed then. Has arrived when it returns. */
  watch(charge: Charge): void;
  /** Releases the lease, and waits until the server has ended or another lease is found to keep it. */
  finish(): Promise<void>;
}

/** Starts a watchdog. It keeps nobody's event loop running. */
export async function startWatchdog(): Promise<Watchdog> {
  const file = new URL(import.meta.url.endsWith(".ts") ? "./watchdog.ts" : "./watchdog.js", import.meta.url);
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", fileURLToPath(file)], {
    detached: true,
    stdio: ["pipe", "pipe", "ignore"],
    cwd: tmpdir(),
    // It outlives us, so it keeps nothing of our environment but where its own sources are compiled already.
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

/** Takes a lease from the watchdog on a port; undefined when there is none any more. */
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
