import { readdirSync, readFileSync } from "node:fs";

/**
 * Starts counting the CPU time of all processes of a server, and returns a function that reads it in microseconds.
 * Returns undefined on systems that do not report it. Processes that end before the reading are not counted.
 */
export function serverCpu(pid: number): (() => number) | undefined {
  try {
    const before = cpuOfAll(pid);
    return () => {
      let sum = 0;
      for (const [process, ns] of cpuOfAll(pid)) sum += ns - (before.get(process) ?? 0);
      return sum / 1000;
    };
  } catch {
    return undefined;
  }
}

function cpuOfAll(pid: number): ReadonlyMap<number, number> {
  const all = new Map([[pid, cpuNs(pid)]]);
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name) || parentOf(name) !== pid) continue;
    try {
      all.set(Number(name), cpuNs(Number(name)));
    } catch {
      // The process has just ended.
    }
  }
  return all;
}

function parentOf(pid: string): number | undefined {
  try {
    // The process name, in parentheses, may contain spaces.
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return undefined;
  }
}

/** @throws Error when the file no longer exists */
function cpuNs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, "latin1").split(" ")[0]);
}
