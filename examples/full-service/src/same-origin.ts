import { forbidden } from "@svc/problem";
import type { NextFunction, Request, Response } from "express";

/**
 * A guard for forms: 403 unless a page of this very origin sent them (AUTH-34). Without it any page could sign a
 * visitor in as somebody else, and read what they write then. The rule is that of `@svc/jwt-auth`, which sees to requests
 * that bring a session already.
 */
export function requireSameOrigin(req: Request, _res: Response, next: NextFunction): void {
  const site = req.headers["sec-fetch-site"];
  if (site === undefined ? isOwnOrigin(req) : site === "same-origin") next();
  else next(forbidden("this form must be sent by a page of the same origin"));
}

// Of browsers that do not say where a request comes from.
function isOwnOrigin({ headers, protocol }: Request): boolean {
  const { origin = "", host = "" } = headers;
  const page = URL.parse(origin);
  // A proxy that ends TLS leaves the host as it is, and need not be one that is trusted to say `https`.
  const isWeb = page?.protocol === "https:" || (page?.protocol === "http:" && protocol === "http");
  return isWeb && page.origin === origin && page.host === URL.parse(`${page.protocol}//${host}`)?.host;
}
