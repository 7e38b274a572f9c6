import { randomBytes } from "node:crypto";
import { IssueError } from "./issue-error.ts";
import type { ResolvedIssuerOptions } from "./options.ts";
import type { Session } from "./pair-request.ts";

/** The claims of both tokens of a pair, before anybody has signed them. */
export interface PairClaims {
  readonly access: Readonly<Record<string, unknown>>;
  readonly refresh: Readonly<Record<string, unknown>>;
}

/** The claims whose names nobody can choose (ISS-10). `__proto__` is no claim: a reader would lose it. */
export const fixedClaims: readonly string[] = [
  "iss",
  "sub",
  "aud",
  "exp",
  "nbf",
  "iat",
  "jti",
  "typ",
  "fam",
  "grt",
  "auth_time",
  "__proto__",
];

// Verifiers of this collection read no longer token. A header and the longest signature leave this much of it.
const MAX_CLAIMS_BYTES = Math.floor((8192 - 1024) * 0.75);

/**
 * The claims of a pair (ISS-10, ISS-11). What cannot be issued is noticed here, before anything is consumed.
 *
 * @throws IssueError when a token would be too long, or an extra claim has no JSON form
 */
export function pairClaims(
  session: Session,
  settings: ResolvedIssuerOptions,
  nowSeconds: number,
): PairClaims {
  const { scopes, roles, tenant, extra, family, subject, signedInAt } = session;
  const { issuer, audiences, scopeClaim, rolesClaim, tenantClaim } = settings;
  const common = {
    ...extra,
    ...(issuer === undefined ? {} : { iss: issuer }),
    sub: subject,
    ...(audiences.length === 0 ? {} : { aud: audiences.length === 1 ? audiences[0] : audiences }),
    iat: nowSeconds,
    nbf: nowSeconds,
    auth_time: signedInAt,
    fam: family,
    ...(tenant === undefined ? {} : { [tenantClaim]: tenant }),
  };
  const claims = {
    access: {
      ...common,
      exp: nowSeconds + settings.accessSeconds,
      jti: tokenId(),
      typ: "access",
      [scopeClaim]: scopes.join(" "),
      [rolesClaim]: roles,
    },
    refresh: {
      ...common,
      exp: nowSeconds + settings.refreshSeconds,
      jti: tokenId(),
      typ: "refresh",
      grt: { scopes, roles },
    },
  };
  checkLength(claims.access);
  checkLength(claims.refresh);
  return claims;
}

function tokenId(): string {
  return randomBytes(16).toString("hex");
}

/** A session family: random, so that it says nothing about the person (CLAIM-3). */
export function drawFamily(): string {
  return randomBytes(16).toString("base64url");
}

function checkLength(claims: object): void {
  let bytes: number;
  try {
    bytes = Buffer.byteLength(JSON.stringify(claims));
  } catch (cause) {
    throw new IssueError("issuePair(): extra has a claim without a JSON form", { cause });
  }
  if (bytes <= MAX_CLAIMS_BYTES) return;
  throw new IssueError(
    `issuePair(): the claims have ${bytes} bytes and may have ${MAX_CLAIMS_BYTES}; ` +
      "give the session fewer scopes, roles or extra claims",
  );
}
