import type { Mutants } from "./mutant.ts";

/** Mutants of the rules on: monthly totals, search. */
export const data: Mutants = {};
