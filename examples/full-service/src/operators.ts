import type { Middleware } from "@svc/context";
import { missingRoles } from "@svc/problem";
import type { Request, RequestHandler, Response } from "express";
import { requireVisitor, visitorOf } from "./visitor.ts";

const role = "operator";

/**
 * Returns a guard that admits operators of the service, who may belong to any tenant, and refuses a tenant's admins. It
 * redirects a visitor who is not signed in to the sign-in page.
 */
export function onlyOperators(visitors: RequestHandler): Middleware {
  return function operatorsGuard(given, answer, next) {
    const [req, res] = [given as Request, answer as Response];
    visitors(req, res, (fault?: unknown) => {
      if (fault !== undefined) next(fault);
      else
        requireVisitor(req, res, () =>
          next(visitorOf(req)?.roles.includes(role) === true ? undefined : missingRoles([role])),
        );
    });
  };
}
