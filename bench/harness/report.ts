import { pairedRatioOf, ratioOf, type Samples, summarise } from "./figures.ts";
import type { Measured } from "./rounds.ts";

/** One result, as `--json` prints it. */
export interface Figure {
  readonly bench: string;
  readonly case: string;
  readonly metric: string;
  readonly value: number;
  readonly unit: "ratio" | "us";
}

/** The cases with which the other cases of a run are compared. */
export interface Bases {
  readonly base: string;
  /** A second base, whose ratios are printed next to the first ones. */
  readonly second?: string | undefined;
  /**
   * Further comparisons, from a case to the case with which it is compared. A comparison is used only if both were
   * measured.
   */
  readonly pairs?: Readonly<Record<string, string>> | undefined;
}

/** Returns all results of a run: for each case its cost, its ratios and its cost above the base. */
export function figuresOf(
  bench: string,
  measured: Measured,
  { base, second, pairs = {} }: Bases,
): readonly Figure[] {
  const baseSamples = samplesOf(measured, base);
  const secondSamples = second === undefined ? undefined : measured.get(second);
  return [...measured].flatMap(([name, samples]) => {
    const figure = (metric: string, value: number, unit: Figure["unit"]): Figure => ({
      bench,
      case: name,
      metric,
      value: Math.round(value * 1000) / 1000,
      unit,
    });
    const { p25 } = summarise(samples);
    return [
      figure("ratio", ratioOf(samples, baseSamples), "ratio"),
      figure("paired-ratio", pairedRatioOf(samples, baseSamples), "ratio"),
      ...(secondSamples === undefined
        ? []
        : [figure(`ratio-to-${second}`, ratioOf(samples, secondSamples), "ratio")]),
      ...pairedCases(measured, { [name]: pairs[name] }).map(({ other, ratio }) =>
        figure(`ratio-to-${other}`, ratio, "ratio"),
      ),
      figure("cpu", p25, "us"),
      figure("added", p25 - summarise(baseSamples).p25, "us"),
    ];
  });
}

/** Returns the results of a run as the lines of a table. */
export function tableOf(measured: Measured, { base, second, pairs = {} }: Bases): readonly string[] {
  const baseSamples = samplesOf(measured, base);
  const secondSamples = second === undefined ? undefined : measured.get(second);
  const heads = ["us/request:  min", "p25", "median", "max", "| ratio", "paired", "added us"];
  const rows = [...measured].map(([name, samples]) => {
    const { min, p25, median, max } = summarise(samples);
    return [
      name,
      ...[min, p25, median, max].map(two),
      `| ${two(ratioOf(samples, baseSamples))}`,
      two(pairedRatioOf(samples, baseSamples)),
      two(p25 - summarise(baseSamples).p25),
      ...(secondSamples === undefined ? [] : [two(ratioOf(samples, secondSamples))]),
    ];
  });
  return [
    ...columns([["", ...heads, ...(secondSamples === undefined ? [] : [`ratio to ${second}`])], ...rows]),
    ...pairedCases(measured, pairs).map(({ name, other, ratio }) => `${name} to ${other}: ${two(ratio)}`),
  ];
}

interface PairedCases {
  readonly name: string;
  readonly other: string;
  readonly ratio: number;
}

function pairedCases(
  measured: Measured,
  pairs: Readonly<Record<string, string | undefined>>,
): readonly PairedCases[] {
  return Object.entries(pairs).flatMap(([name, other = ""]) => {
    const [samples, otherSamples] = [measured.get(name), measured.get(other)];
    if (samples === undefined || otherSamples === undefined) return [];
    return [{ name, other, ratio: ratioOf(samples, otherSamples) }];
  });
}

function samplesOf(measured: Measured, name: string): Samples {
  const samples = measured.get(name);
  if (samples === undefined) throw new Error(`${name} was not measured`);
  return samples;
}

function two(value: number): string {
  return value.toFixed(2);
}

/** Aligns the cells of a table: the first column on the left, the others on the right. */
export function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd(),
  );
}
