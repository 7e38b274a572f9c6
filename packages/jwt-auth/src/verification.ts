import type { Principal } from "@svc/context";

/** Machine-readable reasons for refusing a token. For logs; never sent to a client (AUTH-11). */
export const refusalReasons = [
  "too_large",
  "malformed",
  "encoding",
  "header",
  "critical_header",
  "algorithm_not_allowed",
  "kid",
  "unknown_key",
  "keys_unavailable",
  "signature",
  "payload",
  "claim_missing",
  "claim_type",
  "expired",
  "not_yet_valid",
  "issued_in_future",
  "issuer",
  "audience",
  "token_use",
] as const;

export type RefusalReason = (typeof refusalReasons)[number];

/** The result for a valid token. Frozen, and the same object while the cache holds the token. */
export interface Verified {
  readonly principal: Principal;
  /** When the person signed in, in seconds since the Unix epoch: `auth_time`, else `iat`. */
  readonly signedInAt: number;
  readonly reason?: undefined;
}

/** The result for a refused token. */
export interface Refused {
  readonly principal?: undefined;
  readonly reason: RefusalReason;
  /** Name of the claim or header at fault, if any; never its value. */
  readonly at?: string | undefined;
}

export type Verification = Verified | Refused;

/** Creates a refusal. `at` is the name of the claim or header at fault, never its value. */
export function refuse(reason: RefusalReason, at?: string): Refused {
  return Object.freeze(at === undefined ? { reason } : { reason, at });
}
