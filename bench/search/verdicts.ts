import type { Row } from "./scenario.ts";

/** What came of a bound. */
export interface Verdict {
  readonly line: string;
  readonly broken: boolean;
}

const GOOD = 0.99;
const FAIR = 0.95;
/** What two bytes a number may put out of order. */
const ROUNDING = 0.002;

/** Ours has to find nearly all in less time than the shared index takes to find fewer. */
export function recallVerdict(rows: readonly Row[]): Verdict {
  const of = (side: Row["side"], least: number): Row | undefined =>
    rows.find((row) => row.side === side && /^ef\d+$/.test(row.metric) && row.recall >= least);
  const [ours, shared] = [of("svc", GOOD), of("shared", FAIR)];
  if (ours === undefined) return failed(`svc reaches a recall of ${GOOD} at no width`);
  if (shared === undefined) return passed(`shared reaches a recall of ${FAIR} at no width; ${told(ours)}`);
  const line = `${told(ours)}; ${told(shared)}: ${(ours.p50 / shared.p50).toFixed(2)} x, bound below 1`;
  return ours.p50 < shared.p50 ? passed(line) : failed(line);
}

/** Among few rows a search with a filter may not take longer than the same one without. */
export function filterVerdicts(rows: readonly Row[]): readonly Verdict[] {
  const base = rowOf(rows, "svc", "vector");
  return ["filtered", "filtered-rare"].flatMap((metric) => {
    const own = rowOf(rows, "svc", metric);
    if (base === undefined || own === undefined) return [];
    const line = `svc ${metric}: ${(own.p50 / base.p50).toFixed(2)} x vector, bound at most 1`;
    return [own.p50 <= base.p50 ? passed(line) : failed(line)];
  });
}

/** What each kind of search takes beside the shared index, and what it finds. Nothing of it is a bound. */
export function sharedVerdicts(rows: readonly Row[]): readonly Verdict[] {
  return rows.flatMap((own) => {
    const shared = own.side === "svc" ? rowOf(rows, "shared", own.metric) : undefined;
    if (shared === undefined) return [];
    const mark = own.p50 <= shared.p50 && own.recall >= shared.recall - ROUNDING ? "    " : "LESS";
    const ratio = (own.p50 / shared.p50).toFixed(2);
    const recalls = `recall ${own.recall.toFixed(3)} to ${shared.recall.toFixed(3)}`;
    return [{ line: `${mark} svc ${own.metric}: ${ratio} x shared, ${recalls}`, broken: false }];
  });
}

function rowOf(rows: readonly Row[], side: Row["side"], metric: string): Row | undefined {
  return rows.find((row) => row.side === side && row.metric === metric);
}

/** Each side has to have walked its approximate index, or figures of it are of something else. */
export function planVerdicts(rows: readonly Row[]): readonly Verdict[] {
  return rows
    .filter(({ metric }) => /^ef\d+$/.test(metric))
    .map(({ side, metric, approximate }) => {
      const line = `${side} ${metric}: the plan ${approximate ? "walks" : "does not walk"} an approximate index`;
      return approximate ? passed(line) : failed(line);
    });
}

function told({ side, metric, recall, p50 }: Row): string {
  return `${side} has ${recall.toFixed(3)} at ${metric} in ${p50.toFixed(2)} ms`;
}

function passed(line: string): Verdict {
  return { line: `ok   ${line}`, broken: false };
}

function failed(line: string): Verdict {
  return { line: `FAIL ${line}`, broken: true };
}
