import type { Principal } from "@svc/context";
import type { Database } from "@svc/database";
import { notFoundError, unauthorized } from "@svc/problem";
import type { TokenIssuer } from "@svc/token-issuer";
import type { Express, Request, RequestHandler, Response } from "express";
import { accountPage } from "./pages/account-page.ts";
import { html, pageDescription } from "./pages/page-description.ts";
import { seeOther, sendPage } from "./pages/send-page.ts";
import type { SessionCookies } from "./session-cookies.ts";
import { isSessionOf, listSessions, touchSession } from "./sessions.ts";
import { findUser } from "./users.ts";
import { requireVisitor, visitorOf } from "./visitor.ts";

/** Options of {@link accountRoutes}. */
export interface AccountOptions {
  readonly db: Database;
  readonly prepared: () => Promise<void>;
  readonly issuer: TokenIssuer;
  readonly cookies: SessionCookies;
  readonly sessionsKeptDays: number;
  /** Identifies the visitor, and refuses forms sent from other origins. */
  readonly visitors: RequestHandler;
}

const rotating = "another tab renews the session";

/** The responses that every route here may send. */
const ofVisitors = {
  303: "redirects to the sign-in page",
  307: rotating,
  409: rotating,
  503: "the database is not available",
} as const;

/** Adds the account page and its forms, which end sessions. */
export function accountRoutes(
  app: Express,
  { db, prepared, issuer, cookies, sessionsKeptDays, visitors }: AccountOptions,
): void {
  const account = pageDescription({
    summary: "Shows the account",
    description: "The page names the user and lists the user's sessions, with buttons that end them.",
    responses: { 200: html, ...ofVisitors },
  });
  app.get("/account", account, visitors, requireVisitor, async (req: Request, res: Response) => {
    const { subject, tenant, roles, family } = caller(req);
    await prepared();
    if (family !== undefined) await touchSession(db, family);
    const user = await findUser(db, subject);
    const sessions = await listSessions(db, subject, sessionsKeptDays);
    sendPage(res, 200, accountPage({ subject, email: user?.email, tenant, roles, sessions, family }));
  });

  const signOut = pageDescription({
    summary: "Ends the session",
    description: "A form of the account page. The tokens of the session are no longer accepted.",
    responses: ofVisitors,
  });
  app.post("/sign-out", signOut, visitors, async (req: Request, res: Response) => {
    const visitor = visitorOf(req);
    if (visitor !== undefined) await issuer.logout(visitor);
    signedOut(res);
  });

  const everywhere = pageDescription({
    summary: "Ends all sessions of the user",
    description: "A form of the account page. It revokes all tokens of the user.",
    responses: ofVisitors,
  });
  app.post(
    "/sign-out-everywhere",
    everywhere,
    visitors,
    requireVisitor,
    async (req: Request, res: Response) => {
      await issuer.revokeSubject(caller(req).subject);
      signedOut(res);
    },
  );

  app.post(
    "/sessions/:family/sign-out",
    pageDescription({
      summary: "Ends one session of the user",
      description: "A form of the account page, which lists the sessions.",
      responses: {
        ...ofVisitors,
        303: "redirects to the account page, or to the sign-in page",
        404: "you have no session with this id",
      },
    }),
    visitors,
    requireVisitor,
    async (req: Request<{ family: string }>, res: Response) => {
      const { subject, family: own } = caller(req);
      const { family } = req.params;
      await prepared();
      if (family.includes("\0") || !(await isSessionOf(db, family, subject))) {
        throw notFoundError("you have no session with this id");
      }
      await issuer.revokeSession(family);
      if (family === own) signedOut(res);
      else seeOther(res, "/account");
    },
  );

  function signedOut(res: Response): void {
    cookies.clear(res);
    seeOther(res, "/sign-in?signed_out=1");
  }
}

function caller(req: Request): Principal {
  const visitor = visitorOf(req);
  if (visitor === undefined) throw unauthorized();
  return visitor;
}
