import type { IncomingMessage } from "node:http";
import { contextOf, currentContext, type RequestContext } from "@svc/context";
import { refusalError } from "./refusals.ts";
import type { Resolution } from "./resolution.ts";

/** Returns the tenant granted to a request, or undefined. Use only this name in queries. */
export function tenantOf(req: IncomingMessage): string | undefined {
  return contextOf(req)?.tenantId;
}

/**
 * Returns the tenant granted to the current request or job. Safe to call in a handler without a guard: it throws the error
 * that the guard would pass on.
 *
 * @throws ProblemError 401 or 403, as for `requireTenant()` (TEN-6, TEN-10)
 */
export function currentTenant(): string {
  const context = currentContext();
  if (context?.tenantId !== undefined) return context.tenantId;
  throw refusalError(resolutionOf(context));
}

/**
 * Returns the tenant that a request names by its host, path or header, granted or not; undefined if the request names none.
 * For pages that are shown before a caller signs in. The caller need not belong to that tenant, so do not use the name in
 * a query for a tenant's data.
 */
export function requestedTenantOf(req: IncomingMessage): string | undefined {
  return resolutionOf(contextOf(req))?.requested;
}

// A registered symbol, so that guards from another installed copy of this package find the value.
const RESOLVED: unique symbol = Symbol.for("@svc/tenancy/1") as never;

interface WithResolution extends RequestContext {
  [RESOLVED]?: Resolution;
}

/** Stores the resolution of a request for guards and accessors. */
export function remember(context: RequestContext, resolution: Resolution | undefined): void {
  (context as WithResolution)[RESOLVED] = resolution as Resolution;
}

/** Returns the stored resolution, or undefined when `tenancy()` did not run. */
export function resolutionOf(context: RequestContext | undefined): Resolution | undefined {
  return (context as WithResolution | undefined)?.[RESOLVED];
}
