import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";

export const lastCpu: number = availableParallelism() - 1;

/** Pins all threads of a process to a CPU, if the system has several CPUs and `taskset`. */
export function pin(pid: number | undefined, cpu: number): void {
  if (pid !== undefined && lastCpu > 0) spawnSync("taskset", ["-acp", String(cpu), String(pid)]);
}
