import { forbidden } from "@svc/problem";
import type { Request, RequestHandler } from "express";

/**
 * A guard for forms: 403 unless a page of this very origin sent them (AUTH-34). Without it any page could sign a
 * visitor in as somebody else, and read what they write then. The rule is that of `@svc/jwt-auth`, which sees to requests
 * that bring a session already.
 *
 * @param secure whether people come by https alone, so that a page that came by http is another origin
 */
export function requireSameOrigin({ secure }: { readonly secure: boolean }): RequestHandler {
  return function sameOriginGuard(req, _res, next) {
    const site = req.headers["sec-fetch-site"];
    if (site === undefined ? isOwnOrigin(req, secure) : site === "same-origin") next();
    else next(forbidden("this form must be sent by a page of the same origin"));
  };
}

// Of browsers that do not say where a request comes from.
function isOwnOrigin({ headers }: Request, secure: boolean): boolean {
  const { origin = "", host = "" } = headers;
  const page = URL.parse(origin);
  // A proxy that ends TLS leaves the host as it is, and is not asked for the rest.
  const isWeb = page?.protocol === "https:" || (page?.protocol === "http:" && !secure);
  return isWeb && page.origin === origin && page.host === URL.parse(`${page.protocol}//${host}`)?.host;
}
