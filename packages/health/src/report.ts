/** How one check went. */
export type CheckStatus = "ok" | "fail" | "timeout" | "error";

/** One entry of `checks` (RDY-2, RDY-3). */
export interface CheckReport {
  readonly healthy: boolean;
  readonly status: CheckStatus;
  /** Cleaned: no user-info or query of a URL, no control characters, at most 200 characters. */
  readonly detail: string;
  readonly critical: boolean;
  readonly meta?: Readonly<Record<string, string | number | boolean | null>>;
}

/** `ok` and `degraded` answer 200, `unavailable` 503 (RDY-4 to RDY-6). */
export type ReadinessStatus = "ok" | "degraded" | "unavailable";

/** The body of `/ready`. */
export interface ReadinessReport {
  readonly status: ReadinessStatus;
  readonly service: string;
  readonly checks: Readonly<Record<string, CheckReport>>;
}

/** Where the process is in its life. Only while `serving` are checks asked. */
export type ServiceState = "starting" | "serving" | "draining";

/** Puts the checks of a service that is serving together. */
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

/** What stands in for the checks before and after serving (RDY-20). */
export function reportOfState(service: string, state: "starting" | "draining"): ReadinessReport {
  const [name, detail] = state === "starting" ? ["startup", "starting"] : ["shutdown", "shutting down"];
  return reportOf(service, [[name, { healthy: false, status: "fail", detail, critical: true }]]);
}

/** Names that `/ready` uses itself. */
export const RESERVED_NAMES: readonly string[] = ["startup", "shutdown"];
