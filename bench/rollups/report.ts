import type { BenchOptions } from "../harness/bench.ts";
import { columns } from "../queue/verdicts.ts";
import { quantilesOf } from "./figures.ts";

/** The measured times, by metric. */
export interface Timed {
  readonly metric: string;
  readonly times: readonly number[];
}

export function ratio(costs: readonly Timed[], metric: string, base: string): number {
  const find = (name: string): Timed | undefined => costs.find((cost) => cost.metric === name);
  return ratioOf(find(metric), find(base));
}

export function ratioOf(cost: Timed | undefined, base: Timed | undefined): number {
  return quantilesOf(cost?.times ?? []).p50 / quantilesOf(base?.times ?? []).p50;
}

/** Prints the medians and the 95th percentiles. */
export function printTimes(costs: readonly Timed[], { json, print }: BenchOptions): void {
  const table: string[][] = [["", "calls", "p50 ms", "p95 ms"]];
  for (const { metric, times } of costs) {
    const { p50, p95 } = quantilesOf(times);
    if (json) {
      for (const [name, value] of [
        [metric, p50],
        [`${metric}/p95`, p95],
      ] as const)
        print(
          JSON.stringify({ bench: "rollups", case: "svc", metric: name, value: rounded(value), unit: "ms" }),
        );
    }
    table.push([metric, String(times.length), p50.toFixed(2), p95.toFixed(2)]);
  }
  if (!json) for (const line of columns(table)) print(line);
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
