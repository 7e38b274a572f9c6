import type { Check } from "../check.ts";
import { authenticationChecks } from "./authentication.ts";
import { correlationChecks } from "./correlation.ts";
import { descriptionChecks } from "./descriptions.ts";
import { edgeChecks } from "./edge.ts";
import { errorChecks } from "./errors.ts";
import { federatedChecks } from "./federated.ts";
import { graceChecks } from "./grace.ts";
import { guardChecks } from "./guards.ts";
import { keySetChecks } from "./key-sets.ts";
import { gatewayChecks, tracedGatewayChecks } from "./gateway.ts";
import { limitChecks } from "./limits.ts";
import { logoutChecks } from "./logouts.ts";
import { everyLineChecks, logChecks } from "./logs.ts";
import { metricsChecks } from "./metrics.ts";
import { outboundChecks, tracedOutboundChecks } from "./outbound.ts";
import { pairChecks } from "./pairs.ts";
import { publishedKeyChecks } from "./published-keys.ts";
import { rateLimitChecks } from "./rate-limits.ts";
import { readinessChecks } from "./readiness.ts";
import { hookChecks, refreshChecks } from "./refreshes.ts";
import { storeChecks } from "./store-outage.ts";
import { systemChecks } from "./system.ts";
import { telemetryChecks } from "./telemetry.ts";
import { tenancyChecks } from "./tenancy.ts";
import { tokenChecks } from "./tokens.ts";

/** All checks, one per rule. Checks that run alone keep this order. */
export const checks: readonly Check[] = [
  ...systemChecks,
  ...readinessChecks,
  ...correlationChecks,
  ...outboundChecks,
  ...gatewayChecks,
  ...errorChecks,
  ...limitChecks,
  ...logChecks,
  ...metricsChecks,
  ...edgeChecks,
  ...descriptionChecks,
  ...rateLimitChecks,
  ...authenticationChecks,
  ...guardChecks,
  ...tokenChecks,
  ...keySetChecks,
  ...tenancyChecks,
  // The grace window checks start first because they wait longest. The store checks follow all other session checks,
  // because a service might not use its store for a while after an outage.
  ...graceChecks,
  ...pairChecks,
  ...refreshChecks,
  ...logoutChecks,
  ...hookChecks,
  ...federatedChecks,
  ...publishedKeyChecks,
  ...storeChecks,
  // These checks start last because they wait for an export, during which the others would not run.
  ...telemetryChecks,
  ...tracedOutboundChecks,
  ...tracedGatewayChecks,
  ...everyLineChecks,
];
