import { contextOf, enterContext, type Middleware } from "@svc/context";
import { ConfigurationError } from "@svc/options";
import { notFoundError } from "@svc/problem";
import { refusalError } from "./refusals.ts";
import { resolutionOf } from "./resolved.ts";

// What a route demands, for whoever describes the routes.
const GUARD: unique symbol = Symbol.for("@svc/guard") as never;

/**
 * Admits only requests with a tenant (TEN-10). Any other one gets what `tenancy()` has found out about it: 401 when
 * there is no caller, 403 when the caller does not belong to the tenant that is named or has none.
 *
 * @throws ConfigurationError when it is given something: a guard that was not called gets a request
 */
export function requireTenant(...nothing: readonly undefined[]): Middleware {
  takesNothing("requireTenant()", nothing);
  return described("tenant", function requireTenantGuard(req, res, next) {
    const context = contextOf(req);
    if (context?.tenantId === undefined) next(refusalError(resolutionOf(context)));
    // What stands between tenancy() and here may have lost the current context: currentTenant() must agree.
    else enterContext(req, res, next);
  });
}

/**
 * Admits only requests that name a tenant by host, path or header, granted or not; any other one gets 404 (TEN-18).
 * For sign-in pages and the like: it protects nothing.
 *
 * @throws ConfigurationError when it is given something: a guard that was not called gets a request
 */
export function requestedTenant(...nothing: readonly undefined[]): Middleware {
  takesNothing("requestedTenant()", nothing);
  return described("requested_tenant", function requestedTenantGuard(req, _res, next) {
    if (resolutionOf(contextOf(req))?.requested === undefined)
      next(notFoundError("this request names no tenant", { code: "ERR_SVC_TENANT_NOT_NAMED" }));
    else next();
  });
}

// Handed to a route as it is, it would answer with a guard that nobody takes, and the request would hang.
function takesNothing(subject: string, given: readonly unknown[]): void {
  if (given.every((each) => each === undefined)) return;
  const message = `there are none; write ${subject} where the route is defined, with the brackets`;
  throw new ConfigurationError(subject, [{ key: "arguments", message }]);
}

function described(kind: string, guard: Middleware): Middleware {
  return Object.assign(guard, { [GUARD]: Object.freeze({ kind, values: Object.freeze([]) }) });
}
