import type { Mutants } from "./mutant.ts";

/** Mutants of the rules on: profiles, ports, environment, configuration, performance budget, versioning. */
export const setup: Mutants = {};
