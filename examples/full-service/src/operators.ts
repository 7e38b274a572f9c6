import type { Middleware } from "@svc/context";
import { missingRoles } from "@svc/problem";
import type { Request, RequestHandler, Response } from "express";
import { requireVisitor, visitorOf } from "./visitor.ts";

const role = "operator";

/**
 * Lets those pass who look after the service, whatever their tenant; a tenant's admin is nobody here. Whoever is not signed
 * in goes to the sign-in page first.
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
