import { isOfThisOrigin } from "@svc/context";
import { forbidden } from "@svc/problem";
import type { Request, RequestHandler } from "express";

/**
 * A guard for forms: 403 unless a page of this very origin sent them (AUTH-34). Without it any page could sign a
 * visitor in as somebody else, and read what they write then. `@svc/jwt-auth` sees to requests that bring a session already.
 *
 * @param secure whether people come by https alone, so that a page that came by http is another origin
 */
export function requireSameOrigin({ secure }: { readonly secure: boolean }): RequestHandler {
  return function sameOriginGuard(req, _res, next) {
    if (isOfThisOrigin(req) && !(secure && isOfPlainPage(req))) next();
    else next(forbidden("this form must be sent by a page of the same origin"));
  };
}

// A proxy that ends TLS leaves the host as it is, and does not tell how people come.
function isOfPlainPage({ headers }: Request): boolean {
  return headers["sec-fetch-site"] === undefined && headers.origin?.startsWith("https:") !== true;
}
