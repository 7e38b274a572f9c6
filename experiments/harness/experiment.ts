import type { Report } from "./report.ts";

/** How an experiment is to be run. */
export interface Run {
  /** `as-built`, or one of the experiment's broken variants. */
  readonly variant: string;
  /** Short enough for the test suite; deadlines are judged with room for a busy machine. */
  readonly quick: boolean;
  /** How often a round is repeated. Default: the experiment's own. */
  readonly runs: number | undefined;
  /** How long a round lasts, where that can be chosen. Default: the experiment's own. */
  readonly seconds: number | undefined;
  /** How many cases, where that can be chosen. Default: the experiment's own. */
  readonly cases: number | undefined;
  /** Of the generator, where there is one. Default: a new one, which is printed. */
  readonly seed: number | undefined;
}

/** A fault that a service is put through, and the rule that it has to keep. */
export interface Experiment {
  readonly name: string;
  /** One line for the list. */
  readonly description: string;
  /** What the same driver must fail with. */
  readonly brokenVariants: readonly string[];
  run(run: Run, report: Report): Promise<void>;
}

export const asBuilt = "as-built";

/** A run with the experiment's defaults, but for what is given. */
export function runOf(given: Partial<Run> = {}): Run {
  return {
    variant: asBuilt,
    quick: false,
    runs: undefined,
    seconds: undefined,
    cases: undefined,
    seed: undefined,
    ...given,
  };
}
