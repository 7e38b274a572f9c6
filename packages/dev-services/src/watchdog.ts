// This process runs next to a server and stops it when all leases on it are released. The process that started the
// server holds its lease through the pipe to this process's standard input, every other process through a connection.
// The operating system closes the pipe or connection of a process that dies, even by SIGKILL.
import { rmdirSync, rmSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { createServer, type AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { endServer, isServer } from "./processes.ts";

/**
 * The data about the server that the starting process sends, as one JSON object per line. A later object replaces an
 * earlier one.
 */
export interface Charge {
  readonly pid?: number | undefined;
  /** A part of the server's command line, so that another process with the same id is not killed. */
  readonly marker: string;
  readonly signal: NodeJS.Signals;
  /** Files and folders to remove after the server has stopped. */
  readonly remove: readonly string[];
  /** Another folder to remove after the server has stopped, but only if it is empty. */
  readonly removeIfEmpty?: string | undefined;
}

const GRACE_MS = 150;
let charge: Charge | undefined;
let leases = 1;
let ending = false;

const listener = createServer((socket) => {
  if (ending) return void socket.destroy();
  leases += 1;
  socket.on("error", () => undefined);
  socket.on("close", released);
  socket.resume();
  socket.write("leased\n");
});

function released(): void {
  leases -= 1;
  if (leases === 0) setTimeout(() => void (leases === 0 && end()), GRACE_MS);
}

async function end(): Promise<void> {
  if (ending) return;
  ending = true;
  listener.close();
  if (charge !== undefined) {
    const { pid, marker, signal, remove, removeIfEmpty } = charge;
    if (pid !== undefined && isServer(pid, marker)) await endServer(pid, signal, 10_000);
    for (const path of remove) removeWhole(path);
    if (removeIfEmpty !== undefined) rmdirIfEmpty(removeIfEmpty);
  }
  process.exit(0);
}

/** Removes a file or folder with retries, because an initdb whose parent was killed still writes for a moment. */
function removeWhole(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true, maxRetries: 12 });
  } catch {
    // Ignore: the remaining paths must still be removed.
  }
}

function rmdirIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Other servers of the run still use the folder; the last watchdog removes it.
  }
}

process.on("SIGTERM", () => void end());
process.on("SIGHUP", () => undefined);
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  charge = JSON.parse(line) as Charge;
});
lines.on("close", () => {
  if (leases > 1) process.stdout.write("kept\n");
  released();
});
process.stdout.on("error", () => undefined);
listener.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${(listener.address() as AddressInfo).port}\n`);
  // Flush the compile cache now, because its folder may be gone at exit.
  flushCompileCache();
});
