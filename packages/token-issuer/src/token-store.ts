/** What a revocation can name: a token, a session, or all sessions that a person began before some moment. */
export interface RevocableToken {
  readonly jti: string | undefined;
  readonly fam: string | undefined;
  readonly sub: string;
  /** When the person signed in, in seconds since the Unix epoch: `auth_time`, else `iat`. */
  readonly signedInAt: number;
}

/** One presentation of a refresh token. All durations are in seconds. */
export interface Rotation {
  readonly jti: string;
  readonly fam: string;
  readonly sub: string;
  readonly signedInAt: number;
  /** For how long after its rotation the replaced token is refused without a consequence; 0 for not at all (REF-14). */
  readonly graceSeconds: number;
  /** How long the use of the token is remembered: its remaining lifetime + leeway. */
  readonly usedTtlSeconds: number;
  /** How long a revoked family is remembered: the full refresh lifetime + leeway (REV-9). */
  readonly familyTtlSeconds: number;
  /** Drawn by the server for this request: the same request sent again is recognised as the winner by it. */
  readonly nonce: string;
}

/** `rotated`: go on and issue. `raced`: somebody else just did. `replayed`: the family is revoked (REF-4 to REF-6). */
export type RotationResult = "rotated" | "raced" | "replayed";

/**
 * What an issuer asks of a token store; those of `@svc/token-store` fit. A throw or a rejection means that the store
 * does not answer.
 */
export interface IssuerStore {
  /** Whether every replica of the service sees the same entries. Default: false, which `prod` refuses (ISS-16). */
  readonly shared?: boolean | undefined;
  isRevoked(token: RevocableToken): boolean | Promise<boolean>;
  revoke(jti: string, ttlSeconds: number): void | Promise<void>;
  revokeFamily(fam: string, ttlSeconds: number): void | Promise<void>;
  /** Ends the sessions that began before `notBefore`, in seconds since the Unix epoch (REV-10). */
  revokeSubject(sub: string, notBefore: number, ttlSeconds: number): void | Promise<void>;
  /**
   * The moment at which a session of a person begins now, in whole seconds since the Unix epoch, for `auth_time`: by the
   * store's own clock, which all replicas share, and not before the person's last sign-out (REV-10). Changes nothing.
   * Optional, together with `revokeSubjectNow`; without them the clock of the replica counts.
   *
   * @param nowSeconds the caller's clock, for a store that has none of its own
   */
  signInTime?(sub: string, nowSeconds: number): number | Promise<number>;
  /**
   * Signs a person out everywhere as of now, by the clock of `signInTime` and in ONE atomic step: as `revokeSubject` one
   * second after the moment that `signInTime` would answer, so that it ends what began in the same second (REV-10).
   *
   * @returns the `notBefore` that it has set
   */
  revokeSubjectNow?(sub: string, nowSeconds: number, ttlSeconds: number): number | Promise<number>;
  /** ONE atomic step: is the family or the subject revoked, consume, mark (REF-7, REF-8). */
  rotate(rotation: Rotation): RotationResult | Promise<RotationResult>;
}
