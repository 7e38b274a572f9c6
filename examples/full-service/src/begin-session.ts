import type { Database } from "@svc/database";
import type { JwtAuth, Verified } from "@svc/jwt-auth";
import type { TokenIssuer, TokenPair } from "@svc/token-issuer";
import type { IncomingMessage } from "node:http";
import { forgetSessions, recordSession } from "./sessions.ts";
import type { User } from "./users.ts";

/** Options of {@link sessionBeginner}. */
export interface SessionBeginnerOptions {
  readonly db: Database;
  readonly issuer: TokenIssuer;
  readonly auth: JwtAuth;
  readonly sessionsKeptDays: number;
}

/** Starts a session for an authenticated user, and adds it to the list of sessions. */
export type BeginSession = (user: User, req: IncomingMessage) => Promise<TokenPair>;

export function sessionBeginner({
  db,
  issuer,
  auth,
  sessionsKeptDays,
}: SessionBeginnerOptions): BeginSession {
  return async function beginSession(user, req) {
    const { subject, scopes, roles, tenant } = user;
    const pair = await issuer.issuePair({ subject, scopes, roles, tenant });
    const { principal, signedInAt } = await verified(auth, pair);
    if (principal.family === undefined) throw new Error("the token that the issuer made has no session");
    const userAgent = req.headers["user-agent"] ?? "";
    await recordSession(db, { family: principal.family, subject, tenant, userAgent, signedInAt });
    await forgetSessions(db, sessionsKeptDays);
    return pair;
  };
}

async function verified({ verifier }: JwtAuth, pair: TokenPair): Promise<Verified> {
  const found = await verifier.verify(pair.access_token);
  if (found.reason !== undefined) throw new Error("the service rejected a token that it issued");
  return found;
}
