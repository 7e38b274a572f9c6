import { judged, unbounded, type Verdict } from "../harness/verdicts.ts";
import type { Row } from "./scenario.ts";
import { others } from "./side.ts";

const GOOD = 0.99;
const FAIR = 0.95;
/** The difference in recall that half precision may cause. */
const ROUNDING = 0.002;

/**
 * Returns the verdicts of `svc`: it must reach the recall `GOOD` in less time than the shared index needs to reach `FAIR`.
 */
export function recallVerdict(rows: readonly Row[]): Verdict {
  const of = (side: Row["side"], least: number): Row | undefined =>
    rows.find((row) => row.side === side && /^ef\d+$/.test(row.metric) && row.recall >= least);
  const [ours, shared] = [of("svc", GOOD), of("shared", FAIR)];
  if (ours === undefined) return judged(false, `svc does not reach a recall of ${GOOD} at any ef_search`);
  if (shared === undefined)
    return judged(true, `shared does not reach a recall of ${FAIR} at any ef_search; ${described(ours)}`);
  const line = `${described(ours)}; ${described(shared)}: ${(ours.p50 / shared.p50).toFixed(2)} x, bound below 1`;
  return judged(ours.p50 < shared.p50, line);
}

/**
 * Returns the verdicts of searches among few rows: a search with a filter must not take longer than a search without one.
 */
export function filterVerdicts(rows: readonly Row[]): readonly Verdict[] {
  const base = rowOf(rows, "svc", "vector");
  return ["filtered", "filtered-rare"].flatMap((metric) => {
    const own = rowOf(rows, "svc", metric);
    if (base === undefined || own === undefined) return [];
    const line = `svc ${metric}: ${(own.p50 / base.p50).toFixed(2)} x vector, bound at most 1`;
    return [judged(own.p50 <= base.p50, line)];
  });
}

/** Compares the time and the recall of each kind of search with the other sides, without a bound. */
export function comparisons(rows: readonly Row[]): readonly Verdict[] {
  return others.flatMap((name) =>
    rows.flatMap((own): readonly Verdict[] => {
      const other = own.side === "svc" ? rowOf(rows, name, own.metric) : undefined;
      if (other === undefined) return [];
      const isAsGood = own.p50 <= other.p50 && own.recall >= other.recall - ROUNDING;
      const ratio = (own.p50 / other.p50).toFixed(2);
      const recalls = `recall ${own.recall.toFixed(3)} to ${other.recall.toFixed(3)}`;
      return [{ mark: isAsGood ? "" : "LESS", text: `svc ${own.metric}: ${ratio} x ${name}, ${recalls}` }];
    }),
  );
}

function rowOf(rows: readonly Row[], side: Row["side"], metric: string): Row | undefined {
  return rows.find((row) => row.side === side && row.metric === metric);
}

/**
 * Returns the verdicts of the plans: `svc` and `shared` must use their approximate indexes, the others may use exact plans.
 */
export function planVerdicts(rows: readonly Row[]): readonly Verdict[] {
  return rows
    .filter(({ metric }) => /^ef\d+$/.test(metric))
    .map(({ side, metric, approximate }) => {
      const line = `${side} ${metric}: the plan ${approximate ? "uses" : "does not use"} an approximate index`;
      return side === "svc" || side === "shared" ? judged(approximate, line) : unbounded(line);
    });
}

function described({ side, metric, recall, p50 }: Row): string {
  return `${side} has ${recall.toFixed(3)} at ${metric} in ${p50.toFixed(2)} ms`;
}
