import { setTimeout as sleep } from "node:timers/promises";
import type { Principal } from "@svc/context";
import type { JwtAuth } from "@svc/jwt-auth";
import { principalOf } from "@svc/jwt-auth";
import { conflict, isProblemError } from "@svc/problem";
import type { TokenIssuer } from "@svc/token-issuer";
import type { NextFunction, Request, RequestHandler, Response } from "express";
import { leaving } from "./leaving.ts";
import { home, localPath, signInAddress } from "./return-to.ts";
import { foreignOrigin } from "./same-origin.ts";
import type { SessionCookies } from "./session-cookies.ts";
import { seeOther } from "./pages/send-page.ts";

/** What {@link visitors} stands on. */
export interface VisitorsOptions {
  readonly issuer: Pick<TokenIssuer, "refresh">;
  readonly auth: JwtAuth;
  readonly cookies: SessionCookies;
  /** Whether people come by https alone. */
  readonly secure: boolean;
}

/** How long the answer to another tab is waited for. */
const patienceMs = 200;

const found = new WeakMap<Request, Principal>();
const ended = new WeakSet<Request>();

/** Who looks at a page, behind the middleware of {@link visitors}. */
export function visitorOf(req: Request): Principal | undefined {
  return found.get(req);
}

/** Whether whoever looks at a page has brought a session along that is over. */
export function hasEnded(req: Request): boolean {
  return ended.has(req);
}

/** A guard behind that middleware: whoever is not signed in goes to the sign-in page, and comes back from there. */
export function requireVisitor(req: Request, res: Response, next: NextFunction): void {
  if (visitorOf(req) !== undefined) next();
  else seeOther(res, signInAddress(isView(req) ? withoutRetry(req) : home, hasEnded(req)));
}

/**
 * Finds out who looks at a page. The access token in the cookie says so; when it has expired, the refresh token in the
 * other one gets a new pair, and the page goes on with that. A browser whose other tab was faster comes again with
 * what that tab was given, twice at most. An outage is no sign-out: the cookies stay.
 *
 * Everything but GET and HEAD has to come from a page of this origin. That is checked first, because a refresh replaces the
 * visitor's token (AUTH-34).
 */
export function visitors({ issuer, auth, cookies, secure }: VisitorsOptions): RequestHandler {
  return async function visitorsMiddleware(req, res, next) {
    const foreign = isView(req) ? undefined : foreignOrigin(req, { secure });
    if (foreign !== undefined) {
      next(foreign);
      return;
    }
    const known = principalOf(req);
    const refreshToken = cookies.refreshTokenOf(req);
    if (known !== undefined) found.set(req, known);
    if (known !== undefined || refreshToken === undefined) {
      next();
      return;
    }
    // A browser that has left would not get the pair, and would have used its token up.
    const signal = leaving(res);
    try {
      const pair = await issuer.refresh(refreshToken, signal);
      const { principal } = await auth.verifier.verify(pair.access_token);
      cookies.set(res, pair);
      if (principal !== undefined) found.set(req, principal);
      next();
    } catch (error) {
      if (!signal.aborted) await refused(req, res, next, error);
    }
  };

  async function refused(req: Request, res: Response, next: NextFunction, error: unknown): Promise<void> {
    if (!isProblemError(error) || error.status !== 401) {
      next(error);
    } else if (error.code === "ERR_SVC_REFRESH_ROTATED") {
      const retries = retriesOf(req);
      if (retries >= 2) {
        next(conflict("another tab of this browser is being signed in again"));
        return;
      }
      await sleep(patienceMs);
      // By 307, which repeats a form as it was sent.
      res.set("Cache-Control", "no-store").redirect(307, withRetry(req, retries + 1));
    } else {
      cookies.clear(res);
      ended.add(req);
      next();
    }
  }
}

function isView({ method }: Request): boolean {
  return method === "GET" || method === "HEAD";
}

function retriesOf(req: Request): number {
  return Number(addressOf(req).searchParams.get("retry")) || 0;
}

function withRetry(req: Request, retries: number): string {
  const url = addressOf(req);
  url.searchParams.set("retry", String(retries));
  return url.pathname + url.search;
}

/** The path of the page itself, for links to it. */
export function withoutRetry(req: Request): string {
  const url = addressOf(req);
  url.searchParams.delete("retry");
  return url.pathname + url.search;
}

function addressOf(req: Request): URL {
  return new URL(localPath(req.originalUrl) ?? home, "https://this-site.invalid");
}
