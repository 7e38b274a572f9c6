/** Measures the CPU time of this process. */
export interface CpuMeter {
  readonly start: () => void;
  readonly stop: () => void;
  /** Returns the CPU time between start and stop in percent of one CPU; 0 if it was not started. */
  readonly percent: () => number;
}

export function cpuMeter(): CpuMeter {
  let startedAt: number | undefined;
  let before: NodeJS.CpuUsage | undefined;
  let percent = 0;
  return {
    start() {
      startedAt = performance.now();
      before = process.cpuUsage();
    },
    stop() {
      if (startedAt === undefined) return;
      const { user, system } = process.cpuUsage(before);
      const microseconds = Math.max((performance.now() - startedAt) * 1000, 1);
      percent = ((user + system) / microseconds) * 100;
      startedAt = undefined;
    },
    percent: () => percent,
  };
}
