import type { Mutants } from "./mutant.ts";

/** Mutants of the rules on: job queue, events, outbox, inbox, scheduler. */
export const work: Mutants = {};
