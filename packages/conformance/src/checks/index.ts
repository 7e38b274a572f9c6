import type { Check } from "../check.ts";
import { tenantSourceChecks } from "./tenant-sources.ts";
import { guardChecks } from "./guards.ts";
import { problemChecks } from "./problems.ts";
import { traceContextChecks } from "./trace-context.ts";
import { authenticationChecks } from "./authentication.ts";
import { claimChecks } from "./claims.ts";
import { correlationChecks } from "./correlation.ts";
import { edgeChecks } from "./edge.ts";
import { errorChecks } from "./errors.ts";
import { keySetChecks } from "./key-sets.ts";
import { limitChecks } from "./limits.ts";
import { everyLineChecks, logChecks } from "./logs.ts";
import { metricsChecks } from "./metrics.ts";
import { profileChecks } from "./profiles.ts";
import { readinessChecks } from "./readiness.ts";
import { systemChecks } from "./system.ts";
import { tenancyChecks } from "./tenancy.ts";
import { tokenFormChecks } from "./tokens.ts";
import { sessionChecks } from "./sessions.ts";

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
  ...sessionChecks,
  ...profileChecks,
  ...everyLineChecks,
];
