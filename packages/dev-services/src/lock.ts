import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { takeLease, type Lease } from "./lease.ts";
import { isAlive } from "./processes.ts";

/** Describes a server that several processes share. */
export interface ServerInfo {
  readonly url: string;
  readonly folder: string;
  readonly pid: number;
  readonly port: number;
  readonly leasePort: number;
  readonly version: string;
  readonly source: string;
}

/** A server that another process started and that this process may use. */
export interface Joined {
  readonly info: ServerInfo;
  readonly lease: Lease;
}

/**
 * Uses the server that `file` describes, or starts one. If several processes call this concurrently, one of them starts
 * the server and the others wait for it.
 *
 * @param start starts the server and writes `file`
 */
export async function joinOrStart<T>(file: string, start: () => Promise<T>): Promise<Joined | T> {
  const lock = `${file}.lock`;
  for (;;) {
    const joined = await join(file);
    if (joined !== undefined) return joined;
    if (take(lock)) {
      try {
        // Another process may have started the server before this process got the lock.
        return (await join(file)) ?? (await start());
      } finally {
        rmSync(lock, { force: true });
      }
    }
    await sleep(20);
  }
}

/**
 * Runs `work` under a lock, so that only one process at a time runs it. Blocks this process while it waits.
 *
 * @throws Error if another process holds the lock for more than `ms` milliseconds
 */
export function withLock<T>(file: string, ms: number, work: () => T): T {
  const lock = `${file}.lock`;
  const end = performance.now() + ms;
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  while (!take(lock)) {
    if (performance.now() > end)
      throw new Error(`another process has held ${lock} for ${ms / 1000} s; delete it if none is running`);
    Atomics.wait(nothing, 0, 0, 50);
  }
  try {
    return work();
  } finally {
    rmSync(lock, { force: true });
  }
}

async function join(file: string): Promise<Joined | undefined> {
  const info = readJson<ServerInfo>(file);
  const lease = info && (await takeLease(info.leasePort));
  return lease && { info, lease };
}

function take(lock: string): boolean {
  const mine = `${lock}.${process.pid}`;
  writeFileSync(mine, String(process.pid));
  try {
    // Create the lock as a hard link, which has its content immediately; a new file would be empty at first.
    linkSync(mine, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(mine, { force: true });
  }
  freeIfAbandoned(lock);
  return false;
}

function freeIfAbandoned(lock: string): void {
  const holder = readJson<number>(lock);
  if (holder === undefined || isAlive(holder)) return;
  const aside = `${lock}.abandoned.${process.pid}`;
  try {
    renameSync(lock, aside);
    // Another process may have replaced the stale lock with its own; if so, move that lock back.
    const taken = readJson<number>(aside);
    if (taken !== undefined && taken !== holder) linkSync(aside, lock);
  } catch {
    // Another process has removed or taken the lock; the next attempt handles both cases.
  } finally {
    rmSync(aside, { force: true });
  }
}

/** Returns a file's parsed content; undefined if it cannot be read or is not JSON. */
export function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as T;
  } catch {
    return undefined;
  }
}

/** Writes a file atomically: no process ever reads a partial file. */
export function writeWhole(file: string, value: object): void {
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(value), { mode: 0o600 });
  renameSync(`${file}.${process.pid}`, file);
}
