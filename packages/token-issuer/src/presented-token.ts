import type { Principal } from "@svc/context";
import { createVerifier, type Verification } from "@svc/jwt-auth";
import type { ResolvedIssuerOptions } from "./options.ts";
import { isScopeList, isTextList, type Session } from "./pair-request.ts";
import type { RefreshRefusal } from "./refusals.ts";

/** A valid refresh token and its session. */
export interface Presented {
  readonly principal: Principal;
  readonly tokenId: string;
  /** Seconds since the Unix epoch. */
  readonly expiresAt: number;
  readonly session: Session;
  readonly refusal?: undefined;
}

/** An invalid refresh token. */
export interface Unusable {
  readonly refusal: RefreshRefusal;
  /** For the log: the reason and the claim that the verifier names. */
  readonly reason: string;
  readonly at?: string | undefined;
  readonly principal?: Principal | undefined;
}

/** Creates a reader of refresh tokens, which checks their `typ`, age, id, family and grant in this order. */
export function createTokenReader(
  settings: ResolvedIssuerOptions,
): (token: string) => Promise<Presented | Unusable> {
  const { keys, issuer, audiences, scopeClaim, rolesClaim, tenantClaim, now } = settings;
  const { leewaySeconds, refreshSeconds, sessionSeconds } = settings;
  // A refresh token is used once, so caching its verification has no benefit.
  const rules = { keys, issuer, leewaySeconds, scopeClaim, rolesClaim, tenantClaim, now, cacheTokens: 0 };
  const refreshRules = { ...rules, audience: audiences, tokenUse: "refresh" } as const;
  const refreshTokens = createVerifier(refreshRules);
  const accessTokens = createVerifier({ ...rules, audience: audiences, tokenUse: "access" });

  /** Returns whether `sessionLifetimeDays` has ended the session of an expired token. */
  async function isOfEndedSession(token: string): Promise<boolean> {
    if (sessionSeconds === Infinity) return false;
    // Verify with a clock just before the token's expiry. A forged token still fails the signature check.
    const expiresAt = expiryIn(token);
    const past = createVerifier({ ...refreshRules, now: () => (expiresAt - 1) * 1000 });
    const found = await past.verify(token);
    return found.reason === undefined && isEnded(found.signedInAt);
  }

  function isEnded(signedInAt: number): boolean {
    return signedInAt + sessionSeconds <= now() / 1000;
  }

  /**
   * Returns whether a token is older than the refresh lifetime. Its `exp` may be later if the lifetime was longer when it was
   * issued, but the store keeps sign-outs only for the current lifetime (REV-9).
   */
  function isTooOld({ claims }: Principal): boolean {
    return Math.trunc(Number(claims["iat"])) + refreshSeconds <= Math.floor(now() / 1000) - leewaySeconds;
  }

  async function explain(token: string, found: Verification & { reason: string }): Promise<Unusable> {
    const unusable = { reason: found.reason, ...(found.at === undefined ? {} : { at: found.at }) };
    if (found.reason === "expired" && (await isOfEndedSession(token)))
      return { refusal: "ended", ...unusable };
    if (found.reason !== "token_use") return { refusal: "invalid", ...unusable };
    // The verifier has not checked the signature yet. Report an access token only if it is valid.
    const access = await accessTokens.verify(token);
    return { refusal: access.reason === undefined ? "access_token" : "invalid", ...unusable };
  }

  return async (token) => {
    const found = await refreshTokens.verify(token);
    if (found.reason !== undefined) return explain(token, found);
    const { principal, signedInAt } = found;
    if (isTooOld(principal))
      return { refusal: isEnded(signedInAt) ? "ended" : "invalid", reason: "expired", at: "iat", principal };
    const { tokenId, family } = principal;
    if (tokenId === undefined || tokenId === "") return incomplete(principal, "no_id", "jti");
    if (family === undefined || family === "") return incomplete(principal, "no_family", "fam");
    const grant = grantIn(principal.claims);
    if (grant === undefined) return incomplete(principal, "no_grant", "grt");
    const { subject, tenant, expiresAt = 0 } = principal;
    const extra = extraIn(principal.claims, settings.reserved);
    return {
      principal,
      tokenId,
      expiresAt,
      session: { subject, family, tenant, extra, signedInAt, ...grant },
    };
  };
}

/** Returns the `exp` of an already parsed token; NaN if it has none. */
function expiryIn(token: string): number {
  const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
  const exp = typeof claims === "object" && claims !== null && "exp" in claims ? claims.exp : undefined;
  return typeof exp === "number" ? exp : Number.NaN;
}

function incomplete(principal: Principal, refusal: RefreshRefusal, at: string): Unusable {
  return { refusal, reason: "claim_missing", at, principal };
}

/** Returns the scopes and roles that the session was issued with (REF-3); undefined if they are unreadable (REF-12). */
function grantIn(claims: Readonly<Record<string, unknown>>): Pick<Session, "scopes" | "roles"> | undefined {
  const grant = Object.hasOwn(claims, "grt") ? claims["grt"] : undefined;
  if (typeof grant !== "object" || grant === null) return undefined;
  const { scopes, roles = [] } = grant as { readonly scopes?: unknown; readonly roles?: unknown };
  return isScopeList(scopes) && isTextList(roles) ? { scopes, roles } : undefined;
}

function extraIn(
  claims: Readonly<Record<string, unknown>>,
  reserved: ReadonlySet<string>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !reserved.has(name)));
}
