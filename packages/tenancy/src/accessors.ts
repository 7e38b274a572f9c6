import type { IncomingMessage } from "node:http";
import { contextOf, currentContext } from "@svc/context";
import { refusalError } from "./refusals.ts";
import { resolutionOf } from "./resolved.ts";

/** The tenant that a request acts in; undefined when there is none. The only name that may reach a query. */
export function tenantOf(req: IncomingMessage): string | undefined {
  return contextOf(req)?.tenantId;
}

/**
 * The tenant that the request or job at hand acts in. Safe to call in a handler without a guard: it refuses what the
 * guard would.
 *
 * @throws ProblemError what `requireTenant()` answers: 401 or 403 (TEN-6, TEN-10)
 */
export function currentTenant(): string {
  const context = currentContext();
  if (context?.tenantId !== undefined) return context.tenantId;
  throw refusalError(resolutionOf(context));
}

/**
 * The tenant that a request names by its host, path or header, granted or not; undefined when it names none. For
 * pages that are shown before a caller has signed in. Nobody has backed the name: it must not reach a query that
 * reads what belongs to a tenant.
 */
export function requestedTenantOf(req: IncomingMessage): string | undefined {
  return resolutionOf(contextOf(req))?.requested;
}
