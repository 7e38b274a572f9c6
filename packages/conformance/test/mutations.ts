import type { BaseName } from "./support/bases.ts";
import type { Differences } from "./support/service-under-test.ts";
import { authenticationMutations } from "./mutations/authentication.ts";
import { correlationMutations } from "./mutations/correlation.ts";
import { errorMutations } from "./mutations/errors.ts";
import { keySetMutations } from "./mutations/key-sets.ts";
import { namedRouteMutations } from "./mutations/named-routes.ts";
import { observationMutations } from "./mutations/observation.ts";
import { readinessMutations } from "./mutations/readiness.ts";
import { impostorMutations } from "./mutations/impostors.ts";
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
  /** What it can change anything for: ids of rules and of families of rules. Default: everything. */
  readonly reaches?: readonly string[];
}

/** All rules that a session, its tokens and its routes can have to do with. */
const ofSessions = ["REF", "REV", "ISS", "OIDC", "KEY", "CLAIM", "RDY", "ERR", "AUTH-10", "AUTH-14"];
/** All rules that what a token says can have to do with. */
const ofTokens = ["AUTH", "CLAIM", "KEY", "TEN", "ERR", "COR", "LOG", "PROF", "ISS", "REV", "REF"];
/** All rules that reports, logs, metrics and ids of requests can have to do with. */
const ofReports = "SYS RDY VER ENV COR ERR LIM LOG MET EDGE PROF AUTH-11 AUTH-14".split(" ");
/** All rules that who may act for which tenant can have to do with. */
const ofTenants = "SYS RDY COR ERR LOG AUTH CLAIM TEN PROF".split(" ");

/**
 * Services that are alike in what they can change. The first one is asked about every rule there is, which shows that
 * this kind of change reaches no others; the rest about the rules within its reach.
 */
function alike(all: readonly Mutation[], reaches: readonly string[]): readonly Mutation[] {
  return all.map((each, index) => (index === 0 ? each : { ...each, reaches }));
}

/** Services that issue tokens; new ones each time, since some remember what they were asked. */
export const issuingMutations = (): readonly Mutation[] => [
  ...alike(sessionMutations(), ofSessions),
  ...alike(refreshMutations(), ofSessions),
  ...alike(impostorMutations(), ofSessions),
  ...alike(outageMutations(), ofSessions),
  ...alike(federatedMutations(), ofSessions),
];

/** All other ones. */
export const mutations = (): readonly Mutation[] => [
  ...systemMutations(),
  ...alike(readinessMutations(), ofReports),
  ...errorMutations(),
  ...alike(namedRouteMutations(), [...ofReports, "AUTH"]),
  ...alike(correlationMutations(), ofReports),
  ...alike(observationMutations(), ofReports),
  ...alike(authenticationMutations(), ofTokens),
  ...alike(tokenMutations(), ofTokens),
  ...keySetMutations(),
  ...alike(tenancyMutations(), ofTenants),
];
