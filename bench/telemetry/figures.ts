import { summarise } from "../harness/figures.ts";
import type { Measured } from "../harness/rounds.ts";
import type { Group } from "./cases.ts";

/** One result, as `--json` prints it. */
export interface Figure {
  readonly case: string;
  readonly metric: string;
  readonly value: number;
  readonly unit: "us" | "ratio" | "spans" | "MB";
}

/**
 * Returns for each case its cost, the cost that its tracing adds to the base, and its spans.
 *
 * @param spans the number of spans per request or query, by case
 */
export function figuresOf(
  { unit, controls }: Group,
  measured: Measured,
  spans: ReadonlyMap<string, number>,
): readonly Figure[] {
  return [...measured].flatMap(([name, samples]) => {
    const figure = (metric: string, value: number, of: Figure["unit"]): Figure => ({
      case: name,
      metric,
      value: Math.round(value * 1000) / 1000,
      unit: of,
    });
    const count = spans.get(name);
    const { median } = summarise(samples);
    const base = medianOf(measured, controls.base) ?? Number.NaN;
    return [
      figure(`us_per_${unit}`, median, "us"),
      ...(name === controls.base ? [] : [figure("added_us", median - base, "us")]),
      figure("ratio", median / base, "ratio"),
      ...(count === undefined ? [] : [figure(`spans_per_${unit}`, count, "spans")]),
    ];
  });
}

/** Returns the median of a case; undefined if it was not measured. */
export function medianOf(measured: Measured, name: string): number | undefined {
  const samples = measured.get(name);
  return samples && summarise(samples).median;
}

/** Returns a result as a line of text. */
export function lineOf({ case: name, metric, value }: Figure): string {
  return `${name.padEnd(19)}${metric.padEnd(19)}${value.toFixed(2).padStart(9)}`;
}
