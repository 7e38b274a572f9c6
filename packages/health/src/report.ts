/** The outcome of one check. */
export type CheckStatus = "ok" | "fail" | "timeout" | "error";

/** One entry of `checks` (RDY-2, RDY-3). */
export interface CheckReport {
  readonly healthy: boolean;
  readonly status: CheckStatus;
  /** Sanitised: no user-info or query in URLs, no control characters, at most 200 characters. */
  readonly detail: string;
  readonly critical: boolean;
  readonly meta?: Readonly<Record<string, string | number | boolean | null>>;
}

/** `ok` and `degraded` are sent with 200, `unavailable` with 503 (RDY-4 to RDY-6). */
export type ReadinessStatus = "ok" | "degraded" | "unavailable";

/** The body of `/ready`. */
export interface ReadinessReport {
  readonly status: ReadinessStatus;
  readonly service: string;
  readonly checks: Readonly<Record<string, CheckReport>>;
}

/** The lifecycle state of the process. Checks run only while `serving`. */
export type ServiceState = "starting" | "serving" | "draining";

/** Returns the report of a service in the state `serving`, from the results of its checks. */
export function reportOf(
  service: string,
  checks: readonly (readonly [string, CheckReport])[],
): ReadinessReport {
  let status: ReadinessStatus = "ok";
  for (const [, { healthy, critical }] of checks) {
    if (healthy) continue;
    if (critical) status = "unavailable";
    else if (status === "ok") status = "degraded";
  }
  return { status, service, checks: Object.fromEntries(checks) };
}

/** Returns the report of a service in the state `starting` or `draining`, which does not run its checks (RDY-20). */
export function reportOfState(service: string, state: "starting" | "draining"): ReadinessReport {
  const [name, detail] = state === "starting" ? ["startup", "starting"] : ["shutdown", "shutting down"];
  return reportOf(service, [[name, { healthy: false, status: "fail", detail, critical: true }]]);
}

/** Check names that `/ready` itself uses. */
export const RESERVED_NAMES: readonly string[] = ["startup", "shutdown"];
