/** The options of every bench. */
export interface BenchOptions {
  /** Prints results as JSON lines on standard output instead of a table. */
  readonly json: boolean;
  /** Measures for a few seconds only, for rough results. */
  readonly quick: boolean;
  /** Adds a run over sockets, in benches that have one. */
  readonly socket: boolean;
  /** Records the results as the baseline, in benches that have one. */
  readonly record: boolean;
  /** Measures only these cases, and the cases with which they are compared. Default: all cases. */
  readonly only: readonly string[] | undefined;
  /** The number of rounds. Default: chosen by the bench. */
  readonly rounds: number | undefined;
  /** Another checkout to compare with, in benches that support it. */
  readonly base?: string | undefined;
  /** Prints one line of the result. */
  readonly print: (line: string) => void;
  /** Prints one line of progress. */
  readonly note: (line: string) => void;
}

/** A bench that `npm run bench -- <name>` runs. */
export interface Bench {
  /** Runs the bench and resolves with the exit code. */
  run(options: BenchOptions): Promise<number>;
}
