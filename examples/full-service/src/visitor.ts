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

/** Options of {@link visitors}. */
export interface VisitorsOptions {
  readonly issuer: Pick<TokenIssuer, "refresh">;
  readonly auth: JwtAuth;
  readonly cookies: SessionCookies;
  /** Whether browsers use https only. */
  readonly secure: boolean;
}

/** Milliseconds to wait until another tab has received its new cookies. */
const patienceMs = 200;

const found = new WeakMap<Request, Principal>();
const ended = new WeakSet<Request>();

/** Returns the visitor that the middleware of {@link visitors} has identified. */
export function visitorOf(req: Request): Principal | undefined {
  return found.get(req);
}

/** Returns whether the visitor's session has ended. */
export function hasEnded(req: Request): boolean {
  return ended.has(req);
}

/**
 * Redirects a visitor without a session to the sign-in page, which redirects back after the sign-in. Must run after the
 * middleware of {@link visitors}.
 */
export function requireVisitor(req: Request, res: Response, next: NextFunction): void {
  if (visitorOf(req) !== undefined) next();
  else seeOther(res, signInAddress(isView(req) ? withoutRetry(req) : home, hasEnded(req)));
}

/**
 * Identifies the visitor by the access token in the cookie. If the token has expired, exchanges the refresh token in the
 * other cookie for a new pair, which the page then uses. If another tab of the browser has already used that refresh token,
 * redirects the browser to repeat the request with the other tab's cookies, at most twice. Keeps the cookies during an
 * outage, so that no visitor is signed out.
 *
 * Requests other than GET and HEAD must come from a page of this origin. The origin is checked first, because a refresh
 * replaces the visitor's token (AUTH-34).
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
    // Do not refresh for a disconnected browser: it would not receive the new pair, and its token would be used up.
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
        next(conflict("another tab of this browser is renewing the session"));
        return;
      }
      await sleep(patienceMs);
      // 307 makes the browser send a form again unchanged.
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

/** Returns the path of the page without the retry counter, for links to it. */
export function withoutRetry(req: Request): string {
  const url = addressOf(req);
  url.searchParams.delete("retry");
  return url.pathname + url.search;
}

function addressOf(req: Request): URL {
  return new URL(localPath(req.originalUrl) ?? home, "https://this-site.invalid");
}
