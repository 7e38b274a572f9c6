import type { ErrorRequestHandler, Request, RequestHandler } from "express";
import { baseDomain } from "./access.ts";

/** The claims that an application reads after the verification of a token. */
export interface CallerClaims {
  readonly jti?: string | undefined;
  readonly scope?: string | undefined;
  readonly tenant_id?: string | undefined;
}

/** The members that the middleware below adds to a request. */
export interface TenantRequest extends Request {
  tenant?: string;
}

/**
 * Returns typical handwritten checks that follow a verification: the token is not revoked, and a tenant named by the
 * host is the token's tenant.
 */
export function tenantByHand(
  revoked: ReadonlySet<string>,
  claimsOf: (req: Request) => CallerClaims,
): RequestHandler {
  const suffix = `.${baseDomain}`;
  return function tenant(req: TenantRequest, res, next) {
    const { jti, tenant_id: tenantId } = claimsOf(req);
    if (jti === undefined || revoked.has(jti)) {
      res.status(401).json({ error: "unauthorized" });
      return;
    }
    const host = req.hostname;
    const named = host.endsWith(suffix) ? host.slice(0, -suffix.length) : undefined;
    if (tenantId === undefined || (named !== undefined && named !== tenantId)) {
      res.status(403).json({ error: "forbidden" });
      return;
    }
    req.tenant = tenantId;
    next();
  };
}

/** Answers with the error's status and no details. */
export const errorsByHand: ErrorRequestHandler = function errors(
  error: { status?: number },
  _req,
  res,
  _next,
) {
  const status = error.status ?? 500;
  res.status(status).json({ error: status === 401 ? "unauthorized" : "failed" });
};
