/** A fault in a source file that a test must detect. The title of that test names the rule. */
export interface Mutant {
  /** The source file, from the root of the repository. */
  readonly file: string;
  /** The text to replace. It occurs exactly once in that file. */
  readonly find: string;
  /** The replacement. The file must still parse with it. */
  readonly replace: string;
  /**
   * The test file that detects the fault. Default: all files that name the rule, those of the rule's own package first.
   */
  readonly test?: string | undefined;
}

/** The reason why a rule has no mutant: no single change of a source breaks the rule. */
export interface NoMutant {
  readonly none: string;
}

/** By rule id: one mutant, several, or the reason why the rule has no mutant. */
export type Mutants = Readonly<Record<string, Mutant | readonly Mutant[] | NoMutant>>;

/** Returns the mutants of an entry; an empty list for a rule without mutants. */
export function mutantsOf(entry: Mutant | readonly Mutant[] | NoMutant | undefined): readonly Mutant[] {
  if (entry === undefined || "none" in entry) return [];
  return "file" in entry ? [entry] : entry;
}
