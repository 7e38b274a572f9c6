import { judged, unbounded, type Verdict } from "../harness/verdicts.ts";

/** The median and the 95th percentile of a list of times. */
export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
}

export function quantilesOf(times: readonly number[]): Quantiles {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95) };
}

/** Compares a ratio with its bounds. NaN breaks every bound; without bounds the ratio is only reported. */
export function verdictOf(
  what: string,
  ratio: number,
  { least, most }: { readonly least?: number; readonly most?: number },
): Verdict {
  const shown = `${what}: ${ratio.toFixed(2)} x`;
  if (least === undefined && most === undefined) return unbounded(shown);
  const isKept = (least === undefined || ratio >= least) && (most === undefined || ratio <= most);
  const bounds = [
    ...(least === undefined ? [] : [`at least ${least}`]),
    ...(most === undefined ? [] : [`at most ${most}`]),
  ];
  return judged(isKept, `${shown}, ${bounds.join(" and ")}`);
}
