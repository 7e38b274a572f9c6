import type { Report } from "./report.ts";

/** The options of one run. */
export interface Run {
  /** `as-built`, or one of the experiment's broken variants. */
  readonly variant: string;
  /** Whether the run must be short enough for the test suite; its deadlines then allow for a busy machine. */
  readonly quick: boolean;
  /** The number of repetitions. Default: the experiment's own. */
  readonly runs: number | undefined;
  /** The duration of a round in seconds, for experiments that have one. Default: the experiment's own. */
  readonly seconds: number | undefined;
  /** The number of cases, for experiments that have one. Default: the experiment's own. */
  readonly cases: number | undefined;
  /** The seed of the generator, for experiments that have one. Default: a new one, which is printed. */
  readonly seed: number | undefined;
  /** The only part to run, for experiments that have parts. Default: all. */
  readonly only: string | undefined;
}

/** A fault to which a service is exposed, and the rules that the service must keep. */
export interface Experiment {
  readonly name: string;
  /** One line for the list of experiments. */
  readonly description: string;
  /** Faulty variants of the service; a run with one of them must break a rule. */
  readonly brokenVariants: readonly string[];
  /** The names of its parts, for an experiment that has several. */
  readonly parts?: readonly string[];
  run(run: Run, report: Report): Promise<void>;
}

export const asBuilt = "as-built";

/** Returns the options of a run: the defaults, overridden by `given`. */
export function runOf(given: Partial<Run> = {}): Run {
  return {
    variant: asBuilt,
    quick: false,
    runs: undefined,
    seconds: undefined,
    cases: undefined,
    seed: undefined,
    only: undefined,
    ...given,
  };
}
