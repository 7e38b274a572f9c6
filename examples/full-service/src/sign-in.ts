import type { Database } from "@svc/database";
import { requireContentType } from "@svc/json-body";
import { ProblemError } from "@svc/problem";
import express, { type Express, type Request, type RequestHandler, type Response } from "express";
import type { BeginSession } from "./begin-session.ts";
import type { SignBrowserIn } from "./browser-session.ts";
import {
  type Credentials,
  credentialsBody,
  credentialsForm,
  credentialsIn,
  credentialsOf,
} from "./credentials.ts";
import { demoPassword } from "./demo-users.ts";
import { leaving } from "./leaving.ts";
import { seeOther, sendPage } from "./pages/send-page.ts";
import { html, pageDescription } from "./pages/page-description.ts";
import { signInPage } from "./pages/sign-in-page.ts";
import { composed, type Passwords } from "./passwords.ts";
import { home, localPath } from "./return-to.ts";
import { tokenPair } from "./token-pair.ts";
import { findUserByEmail, type User } from "./users.ts";
import { hasEnded, visitorOf } from "./visitor.ts";

/** Options of {@link signInRoutes}. */
export interface SignInOptions {
  readonly db: Database;
  readonly prepared: () => Promise<void>;
  readonly passwords: Passwords;
  readonly beginSession: BeginSession;
  readonly signBrowserIn: SignBrowserIn;
  /** Identifies the visitor. */
  readonly visitors: RequestHandler;
  /** Refuses forms sent from other origins. */
  readonly ownForms: RequestHandler;
  readonly providers: readonly string[];
  readonly isDemo: boolean;
  readonly isProduction: boolean;
}

const formType = "application/x-www-form-urlencoded";
/** One message for both cases, so that the response does not reveal which accounts exist. */
const wrong = "the e-mail address or the password is wrong";

/**
 * Adds the sign-in routes. `POST /login` accepts an e-mail address and a password: as JSON from programs, which get a
 * pair of tokens, and as the form of `GET /sign-in` from browsers, which get cookies and are redirected to `return_to`.
 */
export function signInRoutes(app: Express, options: SignInOptions): void {
  const { db, prepared, passwords, beginSession, signBrowserIn, visitors, ownForms } = options;
  const { providers, isDemo, isProduction } = options;

  async function userOf({ email, password }: Credentials, res: Response): Promise<User | undefined> {
    const signal = leaving(res);
    await prepared();
    const user = await findUserByEmail(db, email);
    const isRight = await passwords.matches(password, user?.password, signal);
    // Do not start a session for a client that has disconnected: it would stay in the list for a month.
    signal.throwIfAborted();
    // A database that was used for the demo may contain the demo users (CFG-17).
    return isRight && !(isProduction && composed(password) === demoPassword) ? user : undefined;
  }

  const signIn = pageDescription({
    summary: "Shows the sign-in page",
    description: "The page has a form for a password, and a link to each provider.",
    responses: {
      200: html,
      303: "redirects a visitor who is signed in",
      307: "another tab renews the session",
      409: "another tab renews the session",
      503: "the database is not available",
    },
  });
  app.get("/sign-in", signIn, visitors, (req: Request, res: Response) => {
    const query = addressOf(req).searchParams;
    const returnTo = localPath(query.get("return_to")) ?? home;
    if (visitorOf(req) !== undefined) seeOther(res, returnTo);
    else sendPage(res, 200, signInPage({ returnTo, providers, isDemo, note: noteOf(req, query) }));
  });

  // Serve GET /login too, because the address bar shows this path after a failed sign-in.
  const toSignIn = pageDescription({
    summary: "Redirects to the sign-in page",
    description: "For visitors who open the address of a failed sign-in again.",
    responses: { 303: "redirects to it" },
  });
  app.get("/login", toSignIn, (_req, res) => seeOther(res, "/sign-in"));

  app.post(
    "/login",
    pageDescription({
      summary: "Signs a user in",
      description:
        "Programs send JSON and get tokens. Browsers send the form of the sign-in page and get cookies.",
      requestBodies: { "application/json": credentialsBody, [formType]: credentialsForm },
      responses: {
        200: { description: "The tokens of a program", body: tokenPair },
        303: "redirects a browser",
        401: wrong,
        422: "the e-mail address or the password is missing",
        503: "the database is not available, or too many people are signing in",
      },
    }),
    requireContentType("application/json", formType),
    // A page of another site can send a form without a preflight, but not JSON.
    (req, res, next) => (isForm(req) ? ownForms(req, res, next) : next()),
    express.text({ type: formType, limit: "8kb" }),
    async (req: Request, res: Response) => {
      if (isForm(req)) await byForm(req, res);
      else await byJson(req, res);
    },
  );

  async function byJson(req: Request, res: Response): Promise<void> {
    const user = await userOf(credentialsOf(req.body), res);
    if (user === undefined) throw new ProblemError(401, wrong, { headers: { "WWW-Authenticate": "Bearer" } });
    res.set("Cache-Control", "no-store").json(await beginSession(user, req));
  }

  async function byForm(req: Request, res: Response): Promise<void> {
    const form = new URLSearchParams(typeof req.body === "string" ? req.body : "");
    const returnTo = localPath(form.get("return_to")) ?? home;
    const given = credentialsIn(form);
    const user = given && (await userOf(given, res));
    if (user !== undefined) {
      await signBrowserIn(user, req, res, returnTo);
      return;
    }
    const email = given?.email ?? form.get("email")?.slice(0, 254);
    const error = given === undefined ? "Type your e-mail address and your password." : `${sentence(wrong)}.`;
    const status = given === undefined ? 422 : 401;
    sendPage(res, status, signInPage({ returnTo, providers, isDemo, error, email }));
  }
}

function isForm(req: Request): boolean {
  return req.is(formType) === formType;
}

function noteOf(req: Request, query: URLSearchParams): string | undefined {
  if (query.has("signed_out")) return "You are signed out.";
  return query.has("ended") || hasEnded(req) ? "Your session has ended. Sign in again." : undefined;
}

function addressOf(req: Request): URL {
  return new URL(localPath(req.originalUrl) ?? "/sign-in", "https://this-site.invalid");
}

function sentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
