import type { BaseName } from "./support/bases.ts";
import type { Differences } from "./support/service-under-test.ts";
import { authenticationMutations } from "./mutations/authentication.ts";
import { correlationMutations } from "./mutations/correlation.ts";
import { errorMutations } from "./mutations/errors.ts";
import { keySetMutations } from "./mutations/key-sets.ts";
import { observationMutations } from "./mutations/observation.ts";
import { readinessMutations } from "./mutations/readiness.ts";
import { federatedMutations } from "./mutations/federated.ts";
import { outageMutations } from "./mutations/outages-and-keys.ts";
import { refreshMutations } from "./mutations/refreshing.ts";
import { sessionMutations } from "./mutations/sessions.ts";
import { systemMutations } from "./mutations/system.ts";
import { tokenMutations } from "./mutations/tokens.ts";
import { tenancyMutations } from "./mutations/tenancy.ts";

/** A service that breaks one rule. */
export interface Mutation {
  /** The rule that is broken: it alone fails. */
  readonly rule: string;
  /** What the service does wrong. */
  readonly what: string;
  readonly base: BaseName;
  readonly differences: Differences;
  /** Rules that pass on the sound service and cannot be judged on this one. */
  readonly unjudged?: readonly string[];
}

/** Services that issue tokens. */
export const issuingMutations: readonly Mutation[] = [
  ...sessionMutations,
  ...refreshMutations,
  ...outageMutations,
  ...federatedMutations,
];

/** All other ones. */
export const mutations: readonly Mutation[] = [
  ...systemMutations,
  ...readinessMutations,
  ...errorMutations,
  ...correlationMutations,
  ...observationMutations,
  ...authenticationMutations,
  ...tokenMutations,
  ...keySetMutations,
  ...tenancyMutations,
];
