import { data } from "./data.ts";
import { edge } from "./edge.ts";
import { identity } from "./identity.ts";
import type { Mutants } from "./mutant.ts";
import { sessions } from "./sessions.ts";
import { setup } from "./setup.ts";
import { work } from "./work.ts";

/** One mutant, or the reason for its absence, for every done rule. */
export const mutants: Mutants = { ...setup, ...edge, ...identity, ...sessions, ...work, ...data };
