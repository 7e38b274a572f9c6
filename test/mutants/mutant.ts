/** A fault that a test which names the rule has to notice. */
export interface Mutant {
  /** The source file, from the root of the repository. */
  readonly file: string;
  /** A text that occurs exactly once in that file. */
  readonly find: string;
  /** What stands there in the mutant. It still parses. */
  readonly replace: string;
  /** The test file that kills it. Default: all that name the rule, those of the rule's own package first. */
  readonly test?: string | undefined;
}

/** Why a rule has no mutant: no single change of a source breaks it. */
export interface NoMutant {
  readonly none: string;
}

/** By rule id: one mutant or several, or why there is none. */
export type Mutants = Readonly<Record<string, Mutant | readonly Mutant[] | NoMutant>>;

/** The mutants of an entry; none where it says why there is none. */
export function mutantsOf(entry: Mutant | readonly Mutant[] | NoMutant | undefined): readonly Mutant[] {
  if (entry === undefined || "none" in entry) return [];
  return "file" in entry ? [entry] : entry;
}
