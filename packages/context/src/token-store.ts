import type { ReadinessCheck } from "./types.ts";

/**
 * The values by which a token can be revoked: its id, its session, or its subject together with the time of the
 * sign-in.
 */
export interface RevocableToken {
  /** Undefined for a token without an id (CLAIM-2). */
  readonly jti: string | undefined;
  /** The session family; undefined when the issuer sets none (CLAIM-3). */
  readonly fam: string | undefined;
  readonly sub: string;
  /** Time of the sign-in, in seconds since the Unix epoch: `auth_time`, else `iat`. */
  readonly signedInAt: number;
}

/** A request to rotate a refresh token. All durations are in seconds. */
export interface Rotation {
  /** Unique across all sessions: the store may treat a `jti` that occurs in two sessions as a replay. */
  readonly jti: string;
  readonly fam: string;
  readonly sub: string;
  readonly signedInAt: number;
  /** Seconds during which another use of the replaced token is refused but does not end the session; 0: none (REF-14). */
  readonly graceSeconds: number;
  /** Seconds to remember that the token was used: its remaining lifetime + leeway. */
  readonly usedTtlSeconds: number;
  /** Seconds to remember a revoked family: the full refresh lifetime + leeway (REV-9). */
  readonly familyTtlSeconds: number;
  /**
   * A random value that the service creates for each request. A retry of the winning request with the same nonce
   * returns `rotated` again.
   */
  readonly nonce: string;
}

/**
 * `rotated`: issue tokens. `raced`: another request rotated the token within the grace window. `replayed`: the family
 * is revoked (REF-4 to REF-6).
 */
export type RotationResult = "rotated" | "raced" | "replayed";

/** Remembers which tokens and sessions were revoked, and which refresh tokens were used. */
export interface TokenStore {
  /** Whether every replica of a service sees the same entries (ISS-16). Default: false. */
  readonly shared?: boolean | undefined;
  /** Returns whether the token is revoked. An exception or rejection means that the store did not respond. */
  isRevoked(token: RevocableToken): boolean | Promise<boolean>;
  /** Revokes one token. Pass the seconds for which it could still be valid: its remaining lifetime + leeway (REV-9). */
  revoke(jti: string, ttlSeconds: number): void | Promise<void>;
  /** Revokes a session with all of its tokens. Pass the full refresh lifetime + leeway in seconds (REV-9). */
  revokeFamily(fam: string, ttlSeconds: number): void | Promise<void>;
  /**
   * Signs a person out everywhere: revokes sessions with `signedInAt < notBefore`, in seconds since the Unix epoch, with a
   * fraction if possible. Pass the full refresh lifetime as `ttlSeconds`. A time before the stored one changes nothing
   * (REV-10).
   */
  revokeSubject(sub: string, notBefore: number, ttlSeconds: number): void | Promise<void>;
  /**
   * Returns the `auth_time` for a session that begins now, in whole seconds since the Unix epoch. It comes from the store's
   * own clock, which all replicas share, and is never before the person's last sign-out (REV-10). Changes nothing. Optional,
   * together with `revokeSubjectNow`; without the two, the clock of the issuing replica decides.
   *
   * @param nowSeconds the caller's clock, for a store without a clock
   */
  signInTime?(sub: string, nowSeconds: number): number | Promise<number>;
  /**
   * Signs a person out everywhere as of now, in one atomic step. It uses the clock of `signInTime` and sets `notBefore` to
   * one second after the result of `signInTime`, so sessions that began in the same second end too (REV-10).
   *
   * @returns the `notBefore` that it has set
   */
  revokeSubjectNow?(sub: string, nowSeconds: number, ttlSeconds: number): number | Promise<number>;
  /**
   * Rotates a refresh token, in one atomic step: checks the family and the subject, and marks the token as used (REF-7,
   * REF-8). The winning rotation sets the grace window. Returns `replayed` for a token whose `jti` is revoked.
   */
  rotate(rotation: Rotation): RotationResult | Promise<RotationResult>;
  /** Returns the check for `/ready`. */
  readiness?(): ReadinessCheck;
  stop?(): void | Promise<void>;
}
