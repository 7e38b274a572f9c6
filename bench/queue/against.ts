import type { Result } from "./rows.ts";
import { type Figure, type Verdict, verdictOf } from "./verdicts.ts";

/** The job table of the other checkout, and a second process of it as the control. */
export const base = { name: "base", again: "base-again" } as const;

// The minimum ratio of jobs per second, and the maximum ratio of latencies, to the other checkout.
const LEAST = 0.95;
const MOST = 1.05;

/** Compares one row with the other checkout, and the other checkout with itself. */
export function verdictsAgainst(
  { metric, unit }: Pick<Result, "metric" | "unit">,
  figures: readonly Figure[],
): readonly Verdict[] {
  const bound =
    unit === "per_s"
      ? ({ kind: "least", factor: LEAST, goal: false } as const)
      : ({ kind: "most", factor: MOST, goal: false } as const);
  return [
    verdictOf("svc", [base.name], metric, figures, bound),
    verdictOf(base.again, [base.name], metric, figures, undefined, `${metric} control`),
  ].filter((verdict) => verdict !== undefined);
}
