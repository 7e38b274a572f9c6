import type { Mutants } from "./mutant.ts";

/** Mutants of the rules on: issuing, revocation, refresh, federated sign-in. */
export const sessions: Mutants = {};
