import type { IncomingMessage } from "node:http";
import { contextOf, currentContext, type Principal } from "@svc/context";
import { unauthorized } from "@svc/problem";

/** The verified caller of a request; undefined when there is none (AUTH-18, AUTH-19). */
export function principalOf(req: IncomingMessage): Principal | undefined {
  return contextOf(req)?.principal;
}

/**
 * The verified caller of the code that is running, wherever that is (AUTH-18). It is lost in `data` and `end` listeners of
 * the request: use `principalOf(req)` there.
 *
 * @throws ProblemError the 401 of `requireAuth()`, when there is no caller
 */
export function currentPrincipal(): Principal {
  const principal = currentContext()?.principal;
  if (principal === undefined) throw unauthorized();
  return principal;
}
