import { data } from "./data.ts";
import { edge } from "./edge.ts";
import { identity } from "./identity.ts";
import type { Mutants } from "./mutant.ts";
import { sessions } from "./sessions.ts";
import { setup } from "./setup.ts";
import { work } from "./work.ts";

/** One mutant, or the reason for none, for every rule that is done. */
export const mutants: Mutants = { ...setup, ...edge, ...identity, ...sessions, ...work, ...data };
