import { calls } from "./calls.ts";
import { data } from "./data.ts";
import { edge } from "./edge.ts";
import { identity } from "./identity.ts";
import { load } from "./load.ts";
import type { Mutants } from "./mutant.ts";
import { sessions } from "./sessions.ts";
import { setup } from "./setup.ts";
import { tracing } from "./tracing.ts";
import { work } from "./work.ts";

/** The mutants of every done rule, or the reason why a rule has none. */
export const mutants: Mutants = {
  ...setup,
  ...edge,
  ...identity,
  ...sessions,
  ...tracing,
  ...calls,
  ...work,
  ...data,
  ...load,
};
