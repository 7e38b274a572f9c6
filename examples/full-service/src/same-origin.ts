import { isOfThisOrigin } from "@svc/context";
import { forbidden, type ProblemError } from "@svc/problem";
import type { Request, RequestHandler } from "express";

/** What the check of an origin depends on. */
export interface OriginOptions {
  /** Whether people come by https alone, so that a page that came by http is another origin. */
  readonly secure: boolean;
}

/** Returns a 403 problem unless a page of this very origin sent the request (AUTH-34). */
export function foreignOrigin(req: Request, { secure }: OriginOptions): ProblemError | undefined {
  if (isOfThisOrigin(req) && !(secure && isOfPlainPage(req))) return undefined;
  return forbidden("this form must be sent by a page of the same origin");
}

/**
 * A guard for forms: 403 unless a page of this very origin sent them (AUTH-34). Without it any page could sign a
 * visitor in as somebody else, and read what they write then. `@svc/jwt-auth` sees to requests that bring a session already.
 */
export function requireSameOrigin(options: OriginOptions): RequestHandler {
  return function sameOriginGuard(req, _res, next) {
    next(foreignOrigin(req, options));
  };
}

// A proxy that ends TLS leaves the host as it is, and does not tell how people come.
function isOfPlainPage({ headers }: Request): boolean {
  return headers["sec-fetch-site"] === undefined && headers.origin?.startsWith("https:") !== true;
}
