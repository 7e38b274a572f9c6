import { authenticationMutations } from "./mutations/authentication.ts";
import { descriptionMutations } from "./mutations/descriptions.ts";
import { correlationMutations } from "./mutations/correlation.ts";
import { errorMutations } from "./mutations/errors.ts";
import { gatewayMutations } from "./mutations/gateway.ts";
import { keySetMutations } from "./mutations/key-sets.ts";
import type { Mutation } from "./mutations/mutation.ts";
import { namedRouteMutations } from "./mutations/named-routes.ts";
import { observationMutations } from "./mutations/observation.ts";
import { rateLimitMutations } from "./mutations/rate-limits.ts";
import { readinessMutations } from "./mutations/readiness.ts";
import { impostorMutations } from "./mutations/impostors.ts";
import { federatedMutations } from "./mutations/federated.ts";
import { outageMutations } from "./mutations/outages-and-keys.ts";
import { refreshMutations } from "./mutations/refreshing.ts";
import { sessionMutations } from "./mutations/sessions.ts";
import { silentReplicaMutations } from "./mutations/silent-replicas.ts";
import { systemMutations } from "./mutations/system.ts";
import { telemetryMutations } from "./mutations/telemetry.ts";
import { tokenMutations } from "./mutations/tokens.ts";
import { tenancyMutations } from "./mutations/tenancy.ts";

/** Rules and rule families that sessions, their tokens and their routes can affect. */
const ofSessions = ["REF", "REV", "ISS", "OIDC", "KEY", "CLAIM", "RDY", "ERR", "AUTH-10", "AUTH-14"];
/** Rules and rule families that a fault in the content of a token can break. */
const ofTokens = ["AUTH", "CLAIM", "KEY", "TEN", "ERR", "COR", "LOG", "PROF", "ISS", "REV", "REF"];
/** Rules and rule families that a fault in reports, logs, metrics or request ids can break. */
const ofReports = "SYS RDY VER ENV COR HTTP ERR LIM LOG MET EDGE PROF AUTH-11 AUTH-14".split(" ");
/** Rules and rule families that a fault in the choice of tenants can break. */
const ofTenants = "SYS RDY COR ERR LOG AUTH CLAIM TEN PROF".split(" ");

/**
 * Limits the checks of services with similar faults to the rules that such a fault can break. The first service is
 * checked for all rules, to show that its fault affects no others.
 */
function alike(all: readonly Mutation[], reaches: readonly string[]): readonly Mutation[] {
  return all.map((each, index) => (index === 0 ? each : { ...each, reaches }));
}

/** Returns the broken services that issue tokens; new ones at each call, because some keep state. */
export const issuingMutations = (): readonly Mutation[] => [
  ...alike(sessionMutations(), ofSessions),
  ...alike(refreshMutations(), ofSessions),
  ...alike(impostorMutations(), ofSessions),
  ...alike(outageMutations(), ofSessions),
  ...alike(federatedMutations(), ofSessions),
];

/** Returns all other broken services. */
export const mutations = (): readonly Mutation[] => [
  // These services wait for exports, while the kit checks the others.
  ...telemetryMutations(),
  ...gatewayMutations(),
  ...silentReplicaMutations(),
  ...alike(rateLimitMutations(), ["RATE", "ERR"]),
  ...alike(descriptionMutations(), ["DOC", "ERR"]),
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
