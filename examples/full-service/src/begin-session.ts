import type { Database } from "@svc/database";
import type { JwtAuth } from "@svc/jwt-auth";
import type { TokenIssuer, TokenPair } from "@svc/token-issuer";
import type { IncomingMessage } from "node:http";
import { forgetSessions, recordSession } from "./sessions.ts";
import type { User } from "./users.ts";

/** What {@link sessionBeginner} stands on. */
export interface SessionBeginnerOptions {
  readonly db: Database;
  readonly issuer: TokenIssuer;
  readonly auth: JwtAuth;
  readonly sessionsKeptDays: number;
}

/** Signs somebody in who has proved who they are: a session of its own, with its line in the list. */
export type BeginSession = (user: User, req: IncomingMessage) => Promise<TokenPair>;

export function sessionBeginner({
  db,
  issuer,
  auth,
  sessionsKeptDays,
}: SessionBeginnerOptions): BeginSession {
  return async function beginSession(user, req) {
    const { subject, scopes, roles, tenant, notBefore } = user;
    // Within the second of a "sign out everywhere", which ends what began in that second.
    const signedInAt = Math.max(Math.floor(Date.now() / 1000), notBefore);
    const pair = await issuer.issuePair({ subject, scopes, roles, tenant, authTime: signedInAt });
    const { principal } = await auth.verifier.verify(pair.access_token);
    if (principal?.family === undefined) throw new Error("the service does not take the token that it made");
    const userAgent = req.headers["user-agent"] ?? "";
    await recordSession(db, { family: principal.family, subject, tenant, userAgent, signedInAt });
    await forgetSessions(db, sessionsKeptDays);
    return pair;
  };
}
