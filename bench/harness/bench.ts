/** The options of every bench. */
export interface BenchOptions {
  /** Prints figures as JSON lines on standard output instead of a table. */
  readonly json: boolean;
  /** Takes only seconds, for rough figures. */
  readonly quick: boolean;
  /** Adds a run over sockets, in benches that have one. */
  readonly socket: boolean;
  /** Records the figures as the baseline, in benches that have one. */
  readonly record: boolean;
  /** Only these cases, and those that they are compared with. */
  readonly only: readonly string[] | undefined;
  /** The number of rounds, instead of the default. */
  readonly rounds: number | undefined;
  /** Another checkout to compare with, in benches that can. */
  readonly base?: string | undefined;
  /** Prints one line of the result. */
  readonly print: (line: string) => void;
  /** Prints one line of progress. */
  readonly note: (line: string) => void;
}

/** One bench: a name of `npm run bench -- <name>`. */
export interface Bench {
  /** Runs the bench and resolves with the exit code. */
  run(options: BenchOptions): Promise<number>;
}
