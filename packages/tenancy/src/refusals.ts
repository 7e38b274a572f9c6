import { forbidden, type ProblemError, unauthorized } from "@svc/problem";
import type { Resolution } from "./resolution.ts";
import { shown } from "./slug.ts";

/** Returns the error for a request without a tenant: a 403 with a fixed message (TEN-19), or a plain 401 (TEN-6). */
export function refusalError(resolution: Resolution | undefined): ProblemError {
  const { refusal, refused = "", scope = "" } = resolution ?? {};
  switch (refusal) {
    case "no_session":
    case "anonymous":
      return unauthorized();
    case "mismatch":
      return forbidden(
        `this session is scoped to tenant '${shown(scope)}', and the request names '${shown(refused)}'`,
        { code: "ERR_SVC_TENANT_MISMATCH" },
      );
    case "unscoped":
      return forbidden(
        `this account is not scoped to tenant '${shown(refused)}': its token carries no tenant`,
        { code: "ERR_SVC_TENANT_UNSCOPED" },
      );
    default:
      return tenantRequired();
  }
}

/** Returns the 403 for a request that neither has nor names a tenant (TEN-3). */
export function tenantRequired(): ProblemError {
  return forbidden("this request is not scoped to a tenant", { code: "ERR_SVC_TENANT_REQUIRED" });
}
