import { principalOf } from "@svc/jwt-auth";
import type { TokenIssuer } from "@svc/token-issuer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { BeginSession } from "./begin-session.ts";
import { seeOther } from "./pages/send-page.ts";
import { home, localPath } from "./return-to.ts";
import type { SessionCookies } from "./session-cookies.ts";
import type { User } from "./users.ts";

/** Options of {@link browserSessions}. */
export interface BrowserSessionsOptions {
  readonly beginSession: BeginSession;
  readonly issuer: Pick<TokenIssuer, "revokeSession">;
  readonly cookies: SessionCookies;
}

/** Signs a browser in and redirects it to the requested page. */
export type SignBrowserIn = (
  user: User,
  req: IncomingMessage,
  res: ServerResponse,
  returnTo: string | undefined,
) => Promise<void>;

/**
 * Returns a function that signs a browser in with a new session. The previous session of the browser is ended and never
 * reused.
 */
export function browserSessions({ beginSession, issuer, cookies }: BrowserSessionsOptions): SignBrowserIn {
  return async function signBrowserIn(user, req, res, returnTo) {
    const pair = await beginSession(user, req);
    const before = principalOf(req)?.family;
    if (before !== undefined) await issuer.revokeSession(before);
    cookies.set(res, pair);
    seeOther(res, localPath(returnTo) ?? home);
  };
}
