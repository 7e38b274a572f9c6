import type { BenchOptions } from "./bench.ts";

/** The verdict on one result. `FAIL` and `VOID` end the run with exit code 1; `LESS` and an empty mark do not. */
export interface Verdict {
  readonly mark: "ok" | "FAIL" | "VOID" | "LESS" | "";
  /** The result and its bound. */
  readonly text: string;
}

/** Returns the verdict on a result that has a bound. */
export function judged(isKept: boolean, text: string): Verdict {
  return { mark: isKept ? "ok" : "FAIL", text };
}

/** Returns a verdict without a mark, for a result without a bound. */
export function unbounded(text: string): Verdict {
  return { mark: "", text };
}

/**
 * Reports the verdicts of a run, one per line. With `--quick` it reports only the results: a quick run has too few
 * rounds and rows to decide a bound.
 *
 * @returns the exit code: 1 if a bound is missed or a group of cases is void
 */
export function conclude(
  verdicts: readonly Verdict[],
  { quick, note }: Pick<BenchOptions, "quick" | "note">,
): number {
  for (const { mark, text } of verdicts) note(`${(quick ? "" : mark).padEnd(4)} ${text}`);
  if (quick) note("--quick: bounds are not judged");
  return !quick && verdicts.some(({ mark }) => mark === "FAIL" || mark === "VOID") ? 1 : 0;
}
