// A process of its own, beside a server. It ends the server when nobody holds a lease on it any more: whoever starts
// the server holds one by the pipe to this process's standard input, everybody else by a connection. The system closes
// both when a process dies, however it dies.
import { rmdirSync, rmSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { createServer, type AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { endServer, isServer } from "./processes.ts";

/** What the one who starts the server says about it, one JSON object a line; later ones replace earlier ones. */
export interface Charge {
  readonly pid?: number | undefined;
  /** Part of the server's command line, so that no stranger with the same number is ended. */
  readonly marker: string;
  readonly signal: NodeJS.Signals;
  /** Files and folders that go when the server goes. */
  readonly remove: readonly string[];
  /** A folder that goes too when nothing is left in it. */
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

/** Whoever was making the data when its parent was killed goes on for a moment. */
function removeWhole(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true, maxRetries: 12 });
  } catch {
    // What else there is to remove is removed all the same.
  }
}

function rmdirIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Something else of the run is still there, and goes when its own watchdog ends.
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
  // For the next one: at our end the folder may be gone.
  flushCompileCache();
});
