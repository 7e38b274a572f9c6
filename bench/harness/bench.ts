/** What every bench is given. */
export interface BenchOptions {
  /** Figures as JSON lines on standard output, instead of a table. */
  readonly json: boolean;
  /** A few seconds, for a rough look. */
  readonly quick: boolean;
  /** Adds a run over sockets, where a bench has one. */
  readonly socket: boolean;
  /** Writes what was measured down as the baseline, where a bench has one. */
  readonly record: boolean;
  /** Only these cases, and what they are compared with. */
  readonly only: readonly string[] | undefined;
  /** Rounds instead of the usual number. */
  readonly rounds: number | undefined;
  /** Takes the result, a line at a time. */
  readonly print: (line: string) => void;
  /** Takes what is said on the way. */
  readonly note: (line: string) => void;
}

/** One bench: a name of `npm run bench -- <name>`. */
export interface Bench {
  /** Resolves with the exit code. */
  run(options: BenchOptions): Promise<number>;
}
