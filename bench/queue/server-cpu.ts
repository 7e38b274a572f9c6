import { readdirSync, readFileSync } from "node:fs";

/**
 * Begins to count what a server takes, all its processes together, and answers what tells it, in microseconds; undefined where
 * the system does not tell. Of a process that ends meanwhile nothing is counted.
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
      // It has just ended.
    }
  }
  return all;
}

function parentOf(pid: string): number | undefined {
  try {
    // Its own name, in brackets, may have blanks.
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return undefined;
  }
}

/** @throws Error where there is no such file, or no longer */
function cpuNs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, "latin1").split(" ")[0]);
}
