import type { BaseName } from "../support/bases.ts";
import type { Differences } from "../support/service-under-test.ts";

/** A service that breaks one rule. */
export interface Mutation {
  /** The broken rule, the only one that fails. */
  readonly rule: string;
  /** The fault of the service, for the title of its test. */
  readonly what: string;
  readonly base: BaseName;
  readonly differences: Differences;
  /** Rules that pass on the sound service and cannot be checked on this one. */
  readonly unjudged?: readonly string[];
  /** Ids of rules and rule families that the fault can affect. Default: all. */
  readonly reaches?: readonly string[];
}
