import { isPlainText, isTenantId } from "@svc/context";
import { refuse, type Refused } from "./verification.ts";
import { own } from "./token-parser.ts";

/** Rules that the claims of a token must meet. */
export interface ClaimRules {
  /** Required value of `iss`, if set (AUTH-6). */
  readonly issuer: string | undefined;
  /** If non-empty, `aud` must contain one of these values (AUTH-6). */
  readonly audiences: readonly string[];
  readonly leewaySeconds: number;
  readonly tokenUse: "access" | "refresh";
  /** Name of the tenant claim, whose value is a string, or null for no tenant. */
  readonly tenantClaim: string;
}

/** Dates of valid claims, truncated to whole seconds. */
export interface CheckedClaims {
  readonly signedInAt: number;
  /** First second at which the token is valid, leeway included. */
  readonly from: number;
  /** First second at which the token is no longer valid, leeway included. */
  readonly until: number;
  readonly reason?: undefined;
}

/** Largest accepted date in seconds, equal to the largest `Date` (AUTH-23). */
export const MAX_DATE = 8.64e12;

/**
 * Checks the claims of a token against the rules. Checks types before values, so that the reason for a malformed token
 * does not depend on the clock.
 *
 * @param nowSeconds whole seconds since the Unix epoch
 */
export function checkClaims(
  claims: Readonly<Record<string, unknown>>,
  rules: ClaimRules,
  nowSeconds: number,
): CheckedClaims | Refused {
  const wrong = typeFault(claims, rules.tenantClaim);
  if (wrong !== undefined) return wrong;
  const expiresAt = Math.trunc(own(claims, "exp") as number);
  const issuedAt = Math.trunc(own(claims, "iat") as number);
  const notBefore = own(claims, "nbf");
  const from = notBefore === undefined ? issuedAt : Math.max(issuedAt, Math.trunc(notBefore as number));
  const leeway = rules.leewaySeconds;
  const refused =
    useFault(claims, rules) ??
    partyFault(claims, rules) ??
    dateFault(expiresAt, issuedAt, from, nowSeconds, leeway);
  if (refused !== undefined) return refused;
  return {
    signedInAt: signInDate(claims, issuedAt),
    from: from - leeway,
    until: expiresAt + leeway,
  };
}

/** Finds a missing claim or a claim of the wrong type (AUTH-9, AUTH-23, AUTH-28, AUTH-39). */
function typeFault(claims: Readonly<Record<string, unknown>>, tenantClaim: string): Refused | undefined {
  for (const name of ["exp", "iat", "sub"]) {
    if (!Object.hasOwn(claims, name)) return refuse("claim_missing", name);
  }
  for (const name of ["exp", "iat", "nbf"]) {
    const value = own(claims, name);
    if (value !== undefined && !isDate(value)) return refuse("claim_type", name);
  }
  const subject = own(claims, "sub");
  if (subject === "" || !isName(subject)) return refuse("claim_type", "sub");
  for (const name of ["jti", "fam"]) {
    const value = own(claims, name);
    if (value !== undefined && !isName(value)) return refuse("claim_type", name);
  }
  const issuer = own(claims, "iss");
  if (issuer !== undefined && typeof issuer !== "string") return refuse("claim_type", "iss");
  if (!isAudience(own(claims, "aud"))) return refuse("claim_type", "aud");
  // Refuse a malformed tenant: if it were ignored, the caller would be treated as a caller without a tenant.
  const tenant = own(claims, tenantClaim) ?? "";
  return tenant === "" || isTenantId(tenant) ? undefined : refuse("claim_type", tenantClaim);
}

/** Checks that the claim `typ` fits the option `tokenUse` (AUTH-10, CLAIM-4). */
function useFault(claims: Readonly<Record<string, unknown>>, rules: ClaimRules): Refused | undefined {
  const isRefresh = own(claims, "typ") === "refresh";
  return isRefresh === (rules.tokenUse === "refresh") ? undefined : refuse("token_use", "typ");
}

/** Compares issuer and audience (AUTH-6). */
function partyFault(claims: Readonly<Record<string, unknown>>, rules: ClaimRules): Refused | undefined {
  if (rules.issuer !== undefined) {
    const issuer = own(claims, "iss");
    if (issuer === undefined) return refuse("claim_missing", "iss");
    if (issuer !== rules.issuer) return refuse("issuer", "iss");
  }
  if (rules.audiences.length === 0) return undefined;
  const audience = own(claims, "aud") as string | readonly string[] | undefined;
  if (audience === undefined) return refuse("claim_missing", "aud");
  const named =
    typeof audience === "string"
      ? rules.audiences.includes(audience)
      : audience.some((each) => rules.audiences.includes(each));
  return named ? undefined : refuse("audience", "aud");
}

/** Compares the dates with the clock (AUTH-8, AUTH-29, AUTH-30). */
function dateFault(
  expiresAt: number,
  issuedAt: number,
  from: number,
  now: number,
  leeway: number,
): Refused | undefined {
  // Written as a negation so that a clock that returns NaN rejects every token.
  if (!(expiresAt > now - leeway)) return refuse("expired", "exp");
  if (!(issuedAt <= now + leeway)) return refuse("issued_in_future", "iat");
  return from <= now + leeway ? undefined : refuse("not_yet_valid", "nbf");
}

function signInDate(claims: Readonly<Record<string, unknown>>, issuedAt: number): number {
  const signedIn = own(claims, "auth_time");
  return isDate(signedIn) ? Math.trunc(signedIn) : issuedAt;
}

function isDate(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= MAX_DATE;
}

/** Returns whether a value is a string that logs, databases and other services can store (AUTH-39). */
function isName(value: unknown): value is string {
  return typeof value === "string" && isPlainText(value);
}

function isAudience(value: unknown): boolean {
  if (value === undefined || typeof value === "string") return true;
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
