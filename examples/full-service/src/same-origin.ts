import { isOfThisOrigin } from "@svc/context";
import { forbidden, type ProblemError } from "@svc/problem";
import type { Request, RequestHandler } from "express";

/** Options of the origin check. */
export interface OriginOptions {
  /** Whether browsers use https only, so that an http page has another origin. */
  readonly secure: boolean;
}

/** Returns a 403 problem unless a page of this origin sent the request (AUTH-34). */
export function foreignOrigin(req: Request, { secure }: OriginOptions): ProblemError | undefined {
  if (isOfThisOrigin(req) && !(secure && isOfPlainPage(req))) return undefined;
  return forbidden("this form must be sent by a page of the same origin");
}

/**
 * Refuses a form with 403 unless a page of this origin sent it (AUTH-34). Without this guard another site could sign
 * its visitor in as another user, and then read what the visitor writes. `@svc/jwt-auth` checks requests that already
 * have a session.
 */
export function requireSameOrigin(options: OriginOptions): RequestHandler {
  return function sameOriginGuard(req, _res, next) {
    next(foreignOrigin(req, options));
  };
}

// A proxy that terminates TLS keeps the host but does not report the scheme.
function isOfPlainPage({ headers }: Request): boolean {
  return headers["sec-fetch-site"] === undefined && headers.origin?.startsWith("https:") !== true;
}
