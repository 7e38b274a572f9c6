import type { Bound } from "./rows.ts";

/** One result, as `--json` prints it with the name of the bench. */
export interface Figure {
  readonly case: string;
  readonly metric: string;
  readonly value: number;
  readonly unit: "per_s" | "ms" | "tx";
}

export interface Verdict {
  readonly line: string;
  readonly broken: boolean;
}

/** Compares the result of `ours` with the best result of the peers; returns undefined if either is missing. */
export function verdictOf(
  ours: string,
  peers: readonly string[],
  metric: string,
  figures: readonly Figure[],
  bound: Bound | undefined,
  label = metric,
): Verdict | undefined {
  const of = (name: string): Figure | undefined =>
    figures.find((figure) => figure.case === name && figure.metric === metric);
  const own = of(ours);
  const others = peers.map(of).filter((figure) => figure !== undefined);
  if (own === undefined || others.length === 0) return undefined;
  const values = others.map(({ value }) => value);
  const better = own.unit === "per_s" ? Math.max(...values) : Math.min(...values);
  const name = others.find(({ value }) => value === better)?.case ?? "";
  const ratio = own.value / better;
  const wins = own.unit === "per_s" ? ratio >= 1 : ratio <= 1;
  const shown = `${ratio.toFixed(2)} x ${name}`;
  if (bound === undefined) return { line: `${wins ? "    " : "LESS"} ${label}: ${shown}`, broken: false };
  const kept = bound.kind === "least" ? ratio >= bound.factor : ratio <= bound.factor;
  const word = bound.kind === "least" ? "at least" : "at most";
  const what = `${bound.goal ? "goal" : "bound"} ${word} ${bound.factor}`;
  const mark = kept ? "ok  " : bound.goal ? "LESS" : "FAIL";
  return { line: `${mark} ${label}: ${shown}, ${what}`, broken: !kept && !bound.goal };
}

/** Compares a result only with its limit, not with the peers. */
export function limitVerdict({ metric, value, unit }: Figure, limit: number): Verdict {
  const broken = !(value <= limit);
  const mark = broken ? "FAIL" : "ok  ";
  const shown = unit === "ms" ? value.toFixed(0) : value.toFixed(2);
  return { line: `${mark} ${metric}: ${shown} ${unit}, bound at most ${limit} ${unit}`, broken };
}

/**
 * Checks a latency bound for two processes of the same case. Returns a void verdict if only one of them is within the bound
 * or `doubt` is given: in both cases the machine determined the results. Otherwise, or without a second process,
 * returns undefined.
 */
export function voidOf(
  [ours, control]: readonly [string, string],
  peers: readonly string[],
  metric: string,
  figures: readonly Figure[],
  bound: Bound | undefined,
  doubt?: string,
): Verdict | undefined {
  if (bound?.kind !== "most") return undefined;
  const [one, other] = [ours, control].map((name) => verdictOf(name, peers, metric, figures, bound));
  if (one === undefined || other === undefined) return undefined;
  const why =
    doubt ?? (one.broken === other.broken ? undefined : "only one of svc and control is within the bound");
  return why === undefined ? undefined : voided(one, why, metric);
}

/** Returns a void verdict with its reason. */
export function voided({ line }: Verdict, why: string, label = line.slice(5).split(":")[0]): Verdict {
  return { line: `VOID ${label}: ${why}; ${line.slice(5)}`, broken: true };
}

export function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => (row[at] ?? "").length)));
  return rows.map((row) =>
    row
      .map((cell, at) => (at < 2 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}
