import { summarise } from "../harness/figures.ts";
import type { Measured } from "../harness/rounds.ts";
import { judged, type Verdict } from "../harness/verdicts.ts";

/** Maximum cost that a validation may add to handwritten checks, as a share of the cost of bare Express. */
const MOST_ADDED = 0.25;
const MOST_OF_PEER = 0.5;
/** Maximum cost of a refused body, relative to an accepted body. */
const MOST_REFUSED = 1.5;

/** Returns the verdicts of the cases that were measured. */
export function openapiVerdicts(costs: Measured): readonly Verdict[] {
  const of = (name: string): number => summarise(costs.get(name) ?? []).median;
  const has = (...names: readonly string[]): boolean => names.every((name) => costs.has(name));
  const verdicts: Verdict[] = [];
  if (has("svc", "by-hand")) {
    const added = (of("svc") - of("by-hand")) / of("bare-express5");
    verdicts.push(
      judged(
        added <= MOST_ADDED,
        `svc adds ${added.toFixed(3)} x bare-express5 to by-hand, bound at most ${MOST_ADDED}`,
      ),
    );
  }
  if (has("svc", "express-openapi-validator")) {
    const ratio = of("svc") / of("express-openapi-validator");
    verdicts.push(
      judged(
        ratio <= MOST_OF_PEER,
        `svc: ${ratio.toFixed(3)} x express-openapi-validator, bound at most ${MOST_OF_PEER}`,
      ),
    );
  }
  if (has("svc", "svc-refused")) {
    const ratio = of("svc-refused") / of("svc");
    verdicts.push(
      judged(ratio <= MOST_REFUSED, `svc-refused: ${ratio.toFixed(3)} x svc, bound at most ${MOST_REFUSED}`),
    );
  }
  return verdicts;
}
