import { pairedRatioOf, summarise } from "../harness/figures.ts";
import { columns } from "../harness/report.ts";
import type { Reading } from "./load.ts";
import type { Readings } from "./measure.ts";
import { BASE } from "./proxies.ts";

/** Names of proxies and load generators that did not run, with the reason. */
export type Skipped = ReadonlyMap<string, string>;

/** One result, as `--json` prints it. */
export interface Figure {
  readonly case: string;
  readonly metric: string;
  readonly value: number;
}

/** Returns the medians of all rounds, and the median of the ratios to the base within each round. */
export function figuresOf(readings: Readings): readonly Figure[] {
  return [...readings].flatMap(([load, cases]) =>
    [...cases].flatMap(([name, all]) => {
      const figure = (metric: string, value: number): Figure => ({
        case: name,
        metric: `${load}/${metric}`,
        value: Math.round(value * 1000) / 1000,
      });
      return [
        figure("requests_per_s", summarise(all.map(rateOf)).median),
        figure("p99_ms", summarise(all.map(({ p99Ms }) => p99Ms)).median),
        figure("ratio", pairedRatioOf(all.map(rateOf), (cases.get(BASE) ?? []).map(rateOf))),
      ];
    }),
  );
}

/** Returns a table for each load generator, and a line for each program that is missing. */
export function tablesOf(readings: Readings, skipped: Skipped): readonly string[] {
  const figures = figuresOf(readings);
  const tables = [...readings].flatMap(([load, cases]) => {
    const rows = [...cases].map(([name, all]) => {
      const shown = (metric: string, digits: number): string =>
        valueOf(figures, name, `${load}/${metric}`).toFixed(digits);
      const { min, max } = summarise(all.map(rateOf));
      const range = `${min.toFixed(0)} to ${max.toFixed(0)}`;
      return [name, shown("requests_per_s", 0), range, shown("p99_ms", 2), shown("ratio", 2)];
    });
    return [...columns([[load, "requests/s", "range", "p99 ms", "ratio"], ...rows]), ""];
  });
  return [...tables, ...[...skipped].map(([name, reason]) => `${name}: skipped, ${reason}`)];
}

function rateOf({ requestsPerSecond }: Reading): number {
  return requestsPerSecond;
}

function valueOf(figures: readonly Figure[], name: string, metric: string): number {
  return figures.find((each) => each.case === name && each.metric === metric)?.value ?? Number.NaN;
}
