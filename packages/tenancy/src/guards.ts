import { contextOf, describeGuard, enterContext, type Middleware } from "@svc/context";
import { takesNothing } from "@svc/options";
import { notFoundError } from "@svc/problem";
import { refusalError } from "./refusals.ts";
import { resolutionOf } from "./accessors.ts";

/**
 * Admits only requests with a granted tenant (TEN-10). Responds with 401 if there is no caller, and with 403 if the caller
 * does not belong to the named tenant or has no tenant.
 *
 * @throws ConfigurationError when called with arguments, for example when a route was given `requireTenant` without `()`
 */
export function requireTenant(...nothing: readonly undefined[]): Middleware {
  takesNothing("requireTenant()", nothing);
  return describeGuard("tenant", [], function requireTenantGuard(req, res, next) {
    const context = contextOf(req);
    if (context?.tenantId === undefined) next(refusalError(resolutionOf(context)));
    // A middleware after tenancy() may have lost the current context, which currentTenant() needs.
    else enterContext(req, res, next);
  });
}

/**
 * Admits only requests that name a tenant by host, path or header, granted or not; responds with 404 to others (TEN-18). Use
 * it for pages such as sign-in; it does not restrict access to a tenant's data.
 *
 * @throws ConfigurationError when called with arguments, for example when a route was given `requestedTenant` without `()`
 */
export function requestedTenant(...nothing: readonly undefined[]): Middleware {
  takesNothing("requestedTenant()", nothing);
  return describeGuard("requested_tenant", [], function requestedTenantGuard(req, _res, next) {
    if (resolutionOf(contextOf(req))?.requested === undefined)
      next(notFoundError("this request names no tenant", { code: "ERR_SVC_TENANT_NOT_NAMED" }));
    else next();
  });
}
