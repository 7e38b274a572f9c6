import { randomBytes } from "node:crypto";
import type { Signer } from "./key-ring.ts";
import { IssueError } from "./refusals.ts";
import type { ResolvedIssuerOptions } from "./options.ts";
import type { Session } from "./pair-request.ts";

/** The claims of both tokens of a pair, before they are signed. */
export interface PairClaims {
  readonly access: Readonly<Record<string, unknown>>;
  readonly refresh: Readonly<Record<string, unknown>>;
  /** The lifetime of the access token in seconds. */
  readonly expiresIn: number;
}

// Verifiers accept tokens of up to 8192 bytes. Header and signature take up to 1024 of them, except with a long RSA key.
const MAX_TOKEN_BYTES = 8192;
const USUAL_REST_BYTES = 1024;
const HEADER_BYTES = 192;

/**
 * Builds the claims of a pair (ISS-10, ISS-11). No token outlives its session (REF-15). Called before the presented
 * token is used up, because this function can fail.
 *
 * @throws IssueError when a token would be too long, or an extra claim has no JSON form
 */
export function pairClaims(
  session: Session,
  settings: ResolvedIssuerOptions,
  nowSeconds: number,
  signer: Signer,
): PairClaims {
  const { scopes, roles, tenant, extra, family, subject, signedInAt } = session;
  const { issuer, audiences, scopeClaim, rolesClaim, tenantClaim } = settings;
  const left = secondsLeft(session, settings, nowSeconds);
  const expiresIn = Math.min(settings.accessSeconds, left);
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
      exp: nowSeconds + expiresIn,
      jti: tokenId(),
      typ: "access",
      [scopeClaim]: scopes.join(" "),
      [rolesClaim]: roles,
    },
    refresh: {
      ...common,
      exp: nowSeconds + Math.min(settings.refreshSeconds, left),
      jti: tokenId(),
      typ: "refresh",
      grt: { scopes, roles },
    },
    expiresIn,
  };
  const most = mostClaimsBytes(signer);
  checkLength(claims.access, most);
  checkLength(claims.refresh, most);
  return claims;
}

/**
 * Returns the seconds until a session ends: 0 or less after its end, Infinity without `sessionLifetimeDays` (REF-15).
 */
export function secondsLeft(
  { signedInAt }: Pick<Session, "signedInAt">,
  { sessionSeconds }: Pick<ResolvedIssuerOptions, "sessionSeconds">,
  nowSeconds: number,
): number {
  return signedInAt + sessionSeconds - nowSeconds;
}

function tokenId(): string {
  return randomBytes(16).toString("hex");
}

/** Returns a random session family, which reveals nothing about the person (CLAIM-3). */
export function drawFamily(): string {
  return randomBytes(16).toString("base64url");
}

/** Returns how many bytes of claims fit into a token with this signature; base64url takes 4 characters for 3 bytes. */
function mostClaimsBytes({ signatureBytes = 0 }: Signer): number {
  const rest = Math.max(USUAL_REST_BYTES, HEADER_BYTES + Math.ceil((signatureBytes * 4) / 3));
  return Math.floor((MAX_TOKEN_BYTES - rest) * 0.75);
}

function checkLength(claims: object, most: number): void {
  let bytes: number;
  try {
    bytes = Buffer.byteLength(JSON.stringify(claims));
  } catch (cause) {
    throw new IssueError("issuePair(): extra has a claim that cannot be serialized as JSON", { cause });
  }
  if (bytes <= most) return;
  throw new IssueError(
    `issuePair(): the claims have ${bytes} bytes; at most ${most} are allowed: ` +
      "use fewer scopes, roles or extra claims",
  );
}
