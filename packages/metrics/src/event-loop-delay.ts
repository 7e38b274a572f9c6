import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Registry } from "prom-client";
import Gauge from "prom-client/lib/gauge.js";

type IntervalHistogram = ReturnType<typeof monitorEventLoopDelay>;

const RESOLUTION_MS = 10;

/**
 * Functions that return each statistic in seconds, in the order of the gauges. They subtract the monitor's interval,
 * which every raw value except the deviation includes.
 */
const FIGURES: Readonly<Record<string, (of: IntervalHistogram) => number>> = {
  min: (of) => withoutResolution(of.min),
  max: (of) => withoutResolution(of.max),
  mean: (of) => withoutResolution(of.mean),
  stddev: (of) => of.stddev / 1e9,
  p50: (of) => withoutResolution(of.percentile(50)),
  p90: (of) => withoutResolution(of.percentile(90)),
  p99: (of) => withoutResolution(of.percentile(99)),
};

function withoutResolution(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1e3);
}

/**
 * Registers gauges for the delay of the event loop since the last scrape. They have prom-client's names, so that dashboards
 * for Node work. The monitor's interval is subtracted, so that an idle loop shows 0.
 *
 * @returns a function that stops the monitor
 */
export function registerEventLoopDelay(registry: Registry): () => void {
  const monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  monitor.enable();
  const gauges: { readonly gauge: Gauge; readonly read: (of: IntervalHistogram) => number }[] = [];
  for (const [figure, read] of Object.entries(FIGURES)) {
    const first = gauges.length === 0;
    const gauge = new Gauge({
      name: `nodejs_eventloop_lag_${figure}_seconds`,
      help: `Event loop delay since the last scrape, ${figure}, in seconds.`,
      registers: [registry],
      // The registry collects in the order of registration, so the first gauge reads all statistics and then resets the
      // monitor.
      ...(first && { collect: readAll }),
    });
    gauges.push({ gauge, read });
  }

  function readAll(): void {
    // Without a sample, the monitor returns NaN or huge numbers.
    const seen = monitor.count > 0;
    for (const { gauge, read } of gauges) gauge.set(seen ? read(monitor) : 0);
    monitor.reset();
  }

  return () => void monitor.disable();
}
