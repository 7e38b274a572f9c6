import type { Principal } from "@svc/context";
import { createEmitter, errorFields } from "@svc/resilience";
import type { IssuerEvent } from "./events.ts";
import { IssueError, type RefreshRefusal, refreshRefused } from "./refusals.ts";
import type { KeyRing, PublishedKeySet, Signer } from "./key-ring.ts";
import { resolveIssuerOptions, type TokenIssuerOptions } from "./options.ts";
import { isMoment, type PairRequest, readPairRequest, type Session } from "./pair-request.ts";
import { createTokenReader, type Presented } from "./presented-token.ts";
import { askHook, hookFailed } from "./refresh-hook.ts";
import { say } from "./say.ts";
import { createStoreCalls } from "./store-calls.ts";
import { drawFamily, type PairClaims, pairClaims, secondsLeft } from "./written-claims.ts";

// Stores reject longer times, but an imported or foreign token may expire much later.
const LONGEST_TTL_SECONDS = 100 * 365 * 86_400;

/** A pair of tokens in its JSON form (REF-2). */
export interface TokenPair {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly token_type: "Bearer";
  /** The lifetime of the access token in seconds. */
  readonly expires_in: number;
}

/** Issues pairs, rotates refresh tokens and ends sessions. Does not depend on HTTP, users or passwords (ISS-1). */
export interface TokenIssuer {
  /**
   * Issues a pair for a person who has just signed in, as a new session (ISS-2, ISS-3). Reads the time of the sign-in from
   * the store (REV-10) and writes nothing to it. If the store does not respond, the pair is only delayed.
   *
   * @throws IssueError for an invalid request (ISS-13)
   */
  issuePair(request: PairRequest): Promise<TokenPair>;
  /**
   * Exchanges a refresh token for a new pair and uses the token up (REF-1).
   *
   * @param signal aborts for a client that has disconnected: until the token is used up, the call throws the signal's reason
   *   and the token stays valid
   * @throws ProblemError 401 with one of eight details (REF-13); 503 while the store does not respond (REF-17); 500 when the
   *   hook fails (REF-11). The token stays valid after a 503 or 500
   */
  refresh(refreshToken: string, signal?: AbortSignal): Promise<TokenPair>;
  /**
   * Ends the session of a verified caller: revokes the token, and its family if it has one (ISS-5, ISS-6).
   *
   * @throws ProblemError 503 while the store does not respond (ISS-17)
   */
  logout(principal: Principal): Promise<void>;
  /** Revokes one token by its `jti` (ISS-19). @throws ProblemError 503 while the store does not respond */
  revokeToken(tokenId: string): Promise<void>;
  /** Revokes one session by its `fam` (ISS-19). @throws ProblemError 503 while the store does not respond */
  revokeSession(family: string): Promise<void>;
  /**
   * Signs a person out everywhere: ends the sessions that began before a given time (REV-10).
   *
   * @param notBefore seconds since the Unix epoch. Default: now by the clock of the store, which also dates sign-ins: all
   *   existing sessions end, and every later sign-in is valid immediately
   * @returns `notBefore`
   * @throws IssueError for a time in the future, such as a time in milliseconds
   * @throws ProblemError 503 while the store does not respond
   */
  revokeSubject(subject: string, notBefore?: number): Promise<number>;
  /** Returns the public keys to publish; undefined for secrets (ISS-15). */
  jwks(): PublishedKeySet | undefined;
  readonly keys: KeyRing;
}

/**
 * Creates an issuer of token pairs with rotating refresh tokens.
 *
 * @throws ConfigurationError that lists all unknown and invalid options; in `prod` including an unshared store (ISS-16)
 */
export function createTokenIssuer(options: TokenIssuerOptions): TokenIssuer {
  const settings = resolveIssuerOptions(options);
  const { keys, logger, onRefresh, accessSeconds, refreshSeconds, leewaySeconds } = settings;
  const store = createStoreCalls(settings.store, {
    timeoutMs: settings.storeTimeoutMs,
    leewaySeconds,
    logger,
  });
  const read = createTokenReader(settings);
  const familyTtlSeconds = refreshSeconds + leewaySeconds;

  function secondsNow(): number {
    return Math.floor(settings.now() / 1000);
  }

  const { emit } = createEmitter(settings.onEvent, (suppressed, error) =>
    say(logger, "warn", { ...errorFields(error), suppressed }, "the token issuer's onEvent threw an error"),
  );

  async function issuePair(request: PairRequest): Promise<TokenPair> {
    const { reserved } = settings;
    const nowSeconds = secondsNow();
    const { authTime, ...read } = readPairRequest(request, { reserved, nowSeconds, leewaySeconds });
    const latest = await store.signInTime(read.subject, nowSeconds);
    // Use the store's time instead of a later authTime, which comes from a clock that is ahead.
    const signedInAt = Math.min(Math.trunc(authTime ?? latest ?? nowSeconds), latest ?? Infinity);
    const session = { ...read, signedInAt, family: drawFamily() };
    if (isOver(session, nowSeconds)) {
      throw new IssueError(
        "issuePair(): authTime is longer ago than sessionLifetimeDays, so the session has already ended",
      );
    }
    const signer = keys.signer();
    const pair = await sign(signer, pairClaims(session, settings, nowSeconds, signer));
    emit(about("issued", session));
    return pair;
  }

  async function sign(signer: Signer, { access, refresh, expiresIn }: PairClaims): Promise<TokenPair> {
    const [accessToken, refreshToken] = await Promise.all([signer.sign(access), signer.sign(refresh)]);
    return {
      access_token: accessToken,
      refresh_token: refreshToken,
      token_type: "Bearer",
      expires_in: expiresIn,
    };
  }

  async function refresh(refreshToken: string, signal?: AbortSignal): Promise<TokenPair> {
    const found = await read(refreshToken);
    if (found.refusal !== undefined) {
      const { refusal, reason, at, principal } = found;
      emit({ type: "refused", refusal, subject: principal?.subject, family: principal?.family });
      return refuse(refusal, at === undefined ? { reason } : { reason, at });
    }
    const { session } = found;
    if (await store.isRevoked(inStore(session))) return turnDown("refused", session, "revoked");
    if (isOver(session, secondsNow())) return turnDown("refused", session, "ended");
    const scopes = await grantedScopes(found);
    if (scopes === undefined) {
      await store.change((each) => each.revokeFamily(session.family, familyTtlSeconds));
      return turnDown("declined", session, "ended");
    }
    // Do everything that can fail before the old token is used up.
    const signer = keys.signer();
    const nowSeconds = secondsNow();
    // The session may have ended during the hook.
    if (isOver(session, nowSeconds)) return turnDown("refused", session, "ended");
    const claims = nextClaims({ ...session, scopes }, nowSeconds, signer);
    signal?.throwIfAborted();
    const result = await store.rotate(rotationOf(found));
    if (result === "raced") return turnDown("refused", session, "rotated");
    if (result === "replayed") return turnDown("replayed", session, "revoked");
    const pair = await sign(signer, claims);
    emit(about("rotated", session));
    return pair;
  }

  /** Returns whether less than one second of a session is left (REF-15). */
  function isOver(session: Session, nowSeconds: number): boolean {
    return secondsLeft(session, settings, nowSeconds) < 1;
  }

  /** Returns the scopes of the session from now on, or undefined if the hook ends the session. */
  async function grantedScopes({ principal, session }: Presented): Promise<readonly string[] | undefined> {
    if (onRefresh === undefined) return session.scopes;
    try {
      return await askHook(onRefresh, principal, settings.hookTimeoutMs);
    } catch (error) {
      throw loggedHookError(error);
    }
  }

  /** Returns the claims of the next pair. The hook may have returned more scopes than a token can hold (REF-11). */
  function nextClaims(session: Session, nowSeconds: number, signer: Signer): PairClaims {
    try {
      return pairClaims(session, settings, nowSeconds, signer);
    } catch (error) {
      throw onRefresh === undefined ? error : loggedHookError(hookFailed(error));
    }
  }

  function loggedHookError(error: unknown): unknown {
    const fields = errorFields(error instanceof Error ? error.cause : error);
    say(logger, "warn", fields, "the refresh hook failed; nothing was consumed");
    return error;
  }

  function rotationOf({ tokenId, expiresAt, session }: Presented): Parameters<typeof store.rotate>[0] {
    return {
      jti: tokenId,
      fam: session.family,
      sub: session.subject,
      signedInAt: session.signedInAt,
      graceSeconds: settings.graceSeconds,
      usedTtlSeconds: secondsUntilForgotten(expiresAt),
      familyTtlSeconds,
    };
  }

  /** Returns for how long the store remembers a token (REV-9). */
  function secondsUntilForgotten(expiresAt: number): number {
    return Math.min(Math.max(1, expiresAt - secondsNow() + leewaySeconds), LONGEST_TTL_SECONDS);
  }

  function turnDown(type: IssuerEvent["type"], session: Session, refusal: RefreshRefusal): never {
    emit({ ...about(type, session), refusal });
    return refuse(refusal, { reason: type === "refused" ? refusal : type });
  }

  function refuse(refusal: RefreshRefusal, fields: object): never {
    say(logger, "info", fields, "refresh refused");
    throw refreshRefused(refusal);
  }

  async function logout({ subject, tenant, tokenId, family, expiresAt }: Principal): Promise<void> {
    // Revoke the family first. If it failed after the token was revoked, the caller could not retry with that token.
    if (family !== undefined && family !== "") {
      await store.change((each) => each.revokeFamily(family, familyTtlSeconds));
    }
    if (tokenId !== undefined && tokenId !== "") {
      const ttlSeconds = secondsUntilForgotten(expiresAt ?? secondsNow() + accessSeconds);
      await store.change((each) => each.revoke(tokenId, ttlSeconds));
    }
    emit({ type: "logged_out", subject, tenant, family });
  }

  async function revokeToken(tokenId: string): Promise<void> {
    // The id may belong to an access or a refresh token, so remember it for the longer lifetime.
    checkText("revokeToken()", tokenId);
    await store.change((each) => each.revoke(tokenId, familyTtlSeconds));
    emit({ type: "revoked" });
  }

  async function revokeSession(family: string): Promise<void> {
    checkText("revokeSession()", family);
    await store.change((each) => each.revokeFamily(family, familyTtlSeconds));
    emit({ type: "revoked", family });
  }

  async function revokeSubject(subject: string, notBefore?: number): Promise<number> {
    checkText("revokeSubject()", subject);
    const moment = await revokeSubjectFrom(subject, notBefore);
    emit({ type: "revoked", subject });
    return moment;
  }

  async function revokeSubjectFrom(subject: string, notBefore: number | undefined): Promise<number> {
    if (notBefore === undefined) return store.revokeSubjectNow(subject, secondsNow(), familyTtlSeconds);
    // A time in the future would end every session that begins until then.
    if (!isMoment(notBefore, { nowSeconds: secondsNow(), leewaySeconds })) {
      throw new IssueError(
        "revokeSubject(): notBefore must be in seconds since the Unix epoch, and not in the future",
      );
    }
    await store.change((each) => each.revokeSubject(subject, notBefore, familyTtlSeconds));
    return notBefore;
  }

  return {
    issuePair,
    refresh,
    logout,
    revokeToken,
    revokeSession,
    revokeSubject,
    jwks: () => keys.jwks(),
    keys,
  };
}

// JavaScript callers may pass any type, and a store would use undefined as an id.
function checkText(operation: string, value: unknown): void {
  if (typeof value === "string" && value !== "") return;
  throw new IssueError(`${operation}: its first argument must be a non-empty string`);
}

function about(type: IssuerEvent["type"], { subject, tenant, family }: Session): IssuerEvent {
  return { type, subject, tenant, family };
}

// Omit the token's id: rotate() checks whether it was used, because only rotate() applies the grace window.
function inStore({ family, subject, signedInAt }: Session): {
  readonly jti: undefined;
  readonly fam: string;
  readonly sub: string;
  readonly signedInAt: number;
} {
  return { jti: undefined, fam: family, sub: subject, signedInAt };
}
