import type { Middleware } from "@svc/context";
import type { Database } from "@svc/database";
import type { Service } from "@svc/express";
import type { IdentityHandler } from "@svc/oidc-login";
import { ConfigurationError } from "@svc/options";
import type { RefreshHook } from "@svc/token-issuer";
import type { Express, RequestHandler } from "express";
import { accountRoutes } from "./account.ts";
import { ensureAccounts } from "./account-schema.ts";
import { sessionBeginner } from "./begin-session.ts";
import { browserSessions } from "./browser-session.ts";
import { addDemoUsers } from "./demo-users.ts";
import { federatedSignIn } from "./federated-sign-in.ts";
import type { Passwords } from "./passwords.ts";
import { onlyOperators } from "./operators.ts";
import { refreshHook } from "./refresh-hook.ts";
import { requireSameOrigin } from "./same-origin.ts";
import { type SessionCookies, sessionCookies } from "./session-cookies.ts";
import { createSessionStore, type SessionStore } from "./session-store.ts";
import { signInRoutes } from "./sign-in.ts";
import { visitors as findVisitors } from "./visitor.ts";

/** Options of {@link accounts}. */
export interface AccountsOptions {
  readonly db: Database;
  readonly prepared: () => Promise<void>;
  readonly passwords: Passwords;
  /** Whether the demo users are added to the table and shown on the sign-in page. */
  readonly demoUsers: boolean;
}

/** Sign-in, sessions and the guards of pages. */
export interface Accounts {
  readonly cookies: SessionCookies;
  readonly store: SessionStore;
  readonly onRefresh: RefreshHook;
  readonly onIdentity: IdentityHandler;
  /** Identifies the visitor. */
  readonly visitors: RequestHandler;
  /** Guard for pages that only operators may see. */
  readonly operators: Middleware;
  ensureTables(): Promise<void>;
  routes(app: Express): void;
}

export function accounts(
  { config, auth, issuer, log, onStop }: Service,
  { db, prepared, passwords, demoUsers }: AccountsOptions,
): Accounts {
  const { env } = config.service;
  const settings = config.plugin.auth;
  if (auth === undefined || issuer === undefined || settings === undefined) {
    throw new ConfigurationError("the expenses service", [
      { key: "plugin.auth.issue_tokens", message: "must be true, because this service signs people in" },
    ]);
  }
  const store = createSessionStore({ db, prepared, log });
  onStop("flush", () => store.stop?.());
  // Requests do not show whether the browser uses https, because a proxy in front terminates it.
  const secure = env === "staging" || env === "prod";
  const cookies = sessionCookies({
    secure,
    refreshSeconds: settings.refreshLifetimeDays * 86_400,
  });
  const visitors = findVisitors({ issuer, auth, cookies, secure });
  // One day more than the lifetime of a refresh token; by then, all tokens of the session have expired.
  const sessionsKeptDays = Math.ceil(settings.refreshLifetimeDays) + 1;
  const beginSession = sessionBeginner({ db, issuer, auth, sessionsKeptDays });
  const signBrowserIn = browserSessions({ beginSession, issuer, cookies });
  const ownForms = requireSameOrigin({ secure });
  const shared = { db, prepared, visitors, ownForms, issuer, cookies, signBrowserIn, sessionsKeptDays };

  return {
    cookies,
    store,
    onRefresh: refreshHook({ db, prepared }),
    onIdentity: federatedSignIn(shared),
    visitors,
    operators: onlyOperators(visitors),
    async ensureTables() {
      await store.ensureSchema();
      await ensureAccounts(db, async (tx) => {
        if (demoUsers) await addDemoUsers(tx, passwords);
      });
    },
    routes(app) {
      signInRoutes(app, {
        ...shared,
        passwords,
        beginSession,
        providers: Object.keys(settings.providers),
        isDemo: demoUsers,
        isProduction: env === "prod",
      });
      accountRoutes(app, shared);
    },
  };
}
