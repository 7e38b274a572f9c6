import type { Check } from "../check.ts";
import { authenticationChecks, guardChecks } from "./authentication.ts";
import { correlationChecks, traceContextChecks } from "./correlation.ts";
import { edgeChecks } from "./edge.ts";
import { errorChecks, problemChecks } from "./errors.ts";
import { federatedChecks } from "./federated.ts";
import { graceChecks, replicaChecks } from "./grace.ts";
import { keySetChecks } from "./key-sets.ts";
import { limitChecks } from "./limits.ts";
import { logoutChecks } from "./logouts.ts";
import { everyLineChecks, logChecks } from "./logs.ts";
import { metricsChecks } from "./metrics.ts";
import { pairChecks, renewalChecks } from "./pairs.ts";
import { publishedKeyChecks } from "./published-keys.ts";
import { readinessChecks } from "./readiness.ts";
import { hookChecks, refreshChecks } from "./refreshes.ts";
import { storeChecks } from "./store-outage.ts";
import { systemChecks } from "./system.ts";
import { tenancyChecks, tenantSourceChecks } from "./tenancy.ts";
import { claimChecks, tokenFormChecks } from "./tokens.ts";

/** All checks, one per rule. Those that run alone keep this order. */
export const checks: readonly Check[] = [
  ...systemChecks,
  ...readinessChecks,
  ...correlationChecks,
  ...problemChecks,
  ...traceContextChecks,
  ...errorChecks,
  ...limitChecks,
  ...logChecks,
  ...metricsChecks,
  ...edgeChecks,
  ...authenticationChecks,
  ...guardChecks,
  ...tokenFormChecks,
  ...claimChecks,
  ...keySetChecks,
  ...tenantSourceChecks,
  ...tenancyChecks,
  // The store comes last: after its outage a service may not use it for a while.
  // Those that wait for the window start first.
  ...graceChecks,
  ...replicaChecks,
  ...pairChecks,
  ...renewalChecks,
  ...refreshChecks,
  ...logoutChecks,
  ...hookChecks,
  ...federatedChecks,
  ...publishedKeyChecks,
  ...storeChecks,
  ...everyLineChecks,
];
