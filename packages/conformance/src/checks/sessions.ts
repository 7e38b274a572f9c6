import type { Check } from "../check.ts";
import { federatedChecks } from "./federated.ts";
import { graceChecks } from "./grace.ts";
import { hookChecks } from "./hook.ts";
import { logoutChecks } from "./logouts.ts";
import { pairChecks } from "./pairs.ts";
import { publishedKeyChecks } from "./published-keys.ts";
import { refreshChecks } from "./refreshes.ts";
import { renewalChecks } from "./renewals.ts";
import { replicaChecks } from "./replicas.ts";
import { storeChecks } from "./store-outage.ts";

/**
 * Checks of services that issue tokens. The store comes last: after its outage a service may not use it for a while.
 */
export const sessionChecks: readonly Check[] = [
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
];
