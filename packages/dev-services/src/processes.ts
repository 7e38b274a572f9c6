import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Returns whether a process, or one of its threads, is running: a single running thread still holds the process's ports
 * and files. A zombie process does not count.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // With EPERM, the process exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM" && !isZombie(pid);
  }
  return !isZombie(pid);
}

function isZombie(pid: number): boolean {
  const stat = statOf(pid);
  return stat?.state === "Z" && !(stat.threads > 1);
}

interface Stat {
  readonly state: string;
  readonly parent: number;
  readonly threads: number;
}

/** Reads a process's state from /proc; undefined on systems without /proc. */
function statOf(pid: number | string): Stat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The second field is the process name in parentheses; the name itself may contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0] ?? "", parent: Number(fields[1]), threads: Number(fields[17]) };
}

/** Returns a process's command line, with words separated by spaces; undefined if it cannot be read. */
export function commandLineOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    if (process.platform === "linux" || process.platform === "win32") return undefined;
  }
  try {
    return execFileSync("ps", ["-ww", "-p", String(pid), "-o", "command="], { encoding: "utf8" }).trim();
  } catch {
    return undefined;
  }
}

/**
 * Returns whether `pid` is running and its command line contains `marker`, so that a reused process id does not match.
 */
export function isServer(pid: number, marker: string): boolean {
  return isAlive(pid) && (commandLineOf(pid)?.includes(marker) ?? process.platform === "win32");
}

/** Returns a process's running child processes. Always empty on Windows. */
export function childrenOf(pid: number): number[] {
  if (process.platform === "win32") return [];
  if (process.platform !== "linux") {
    const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).split("\n");
    return lines
      .map((line) => line.trim().split(/\s+/).map(Number))
      .filter(([, parent]) => parent === pid)
      .map(([child]) => child ?? 0);
  }
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && statOf(name)?.parent === pid)
    .map(Number);
}

/** Sends a signal. Returns false if the process does not exist. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  // Windows does not support SIGSTOP and SIGCONT.
  if (process.platform === "win32" && (name === "SIGSTOP" || name === "SIGCONT")) return isAlive(pid);
  try {
    return process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

/**
 * Sends a signal to a server and its child processes, and returns their ids. Signals the server first, because a
 * stopped or dead server cannot start another child.
 */
export function signalTree(pid: number, name: NodeJS.Signals): number[] {
  const before = childrenOf(pid);
  signal(pid, name);
  const all = new Set([...before, ...childrenOf(pid)]);
  for (const child of all) signal(child, name);
  return [pid, ...all];
}

// Limits the wait in pauseTree(): a thread that waits for a disk write cannot stop until the write ends.
const LONGEST_STOP_MS = 1000;

/**
 * Freezes a server and all its processes (SIGSTOP). Waits up to 1 s until all their threads have stopped, because a thread
 * that still runs on a busy machine could respond.
 */
export function pauseTree(pid: number): void {
  const all = signalTree(pid, "SIGSTOP");
  const end = performance.now() + LONGEST_STOP_MS;
  const turn = new Int32Array(new SharedArrayBuffer(4));
  while (all.some(hasRunningThread) && performance.now() < end) Atomics.wait(turn, 0, 0, 1);
}

/** Returns whether a thread of a process is still running; always false on systems without /proc. */
function hasRunningThread(pid: number): boolean {
  let threads: string[];
  try {
    threads = readdirSync(`/proc/${pid}/task`);
  } catch {
    return false;
  }
  return threads.some((thread) => {
    const state = statOf(`${pid}/task/${thread}`)?.state ?? "X";
    return !["T", "t", "Z", "X"].includes(state);
  });
}

/** Waits until none of the processes is running. Returns false if some still are after `ms` milliseconds. */
export async function gone(pids: readonly number[], ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  while (pids.some(isAlive)) {
    if (performance.now() > end) return false;
    await sleep(10);
  }
  return true;
}

/** Stops a server and all its processes: sends `first`, then SIGKILL after `graceMs` milliseconds. */
export async function endServer(pid: number, first: NodeJS.Signals, graceMs: number): Promise<void> {
  const all = signalTree(pid, "SIGCONT");
  signal(pid, first);
  if (await gone(all, graceMs)) return;
  const rest = signalTree(pid, "SIGKILL");
  for (const each of all) signal(each, "SIGKILL");
  await gone([...all, ...rest], 5000);
}

/** Faults that tests inject into a server to observe its clients. */
export interface Faults {
  /** Freezes all of the server's processes (SIGSTOP): connections stay open without a response. */
  pause(): void;
  /** Resumes a frozen server. */
  resume(): void;
  /** Kills all of the server's processes (SIGKILL), as in a crash. Resolves when they are gone. */
  kill(): Promise<void>;
}

/** Returns functions that inject faults into a server, whose process id may change. */
export function faultsOf(pid: () => number): Faults {
  return {
    pause: () => pauseTree(pid()),
    resume: () => void signalTree(pid(), "SIGCONT"),
    async kill() {
      await gone(signalTree(pid(), "SIGKILL"), 10_000);
    },
  };
}
