import type { IncomingMessage } from "node:http";
import { contextOf, currentContext, type Principal } from "@svc/context";
import { unauthorized } from "@svc/problem";

/** Returns the verified caller of a request, or undefined (AUTH-18, AUTH-19). */
export function principalOf(req: IncomingMessage): Principal | undefined {
  return contextOf(req)?.principal;
}

/**
 * Returns the verified caller of the current request, without the request object (AUTH-18). Does not work in `data` and
 * `end` listeners of the request: use `principalOf(req)` there.
 *
 * @throws ProblemError the 401 of `requireAuth()` when the request has no caller
 */
export function currentPrincipal(): Principal {
  const principal = currentContext()?.principal;
  if (principal === undefined) throw unauthorized();
  return principal;
}
