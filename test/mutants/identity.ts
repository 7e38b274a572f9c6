import type { Mutants } from "./mutant.ts";

/** Mutants of the rules on: authentication, claims, key sets, tenancy. */
export const identity: Mutants = {};
