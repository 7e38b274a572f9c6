import { type Traffic, trafficOf } from "./route.ts";
import { claimsFor, type Issuer } from "./tokens.ts";

/** The domain whose subdomains name tenants. */
export const baseDomain = "bench.example";
/** The scope that the route requires. */
export const scope = "items:read";

const tenants = 16;

/** Mints a token for each caller; the token at `i` belongs to {@link tenantOf}`(i)`. */
export function mintTokens(issuer: Issuer, callers: number): readonly string[] {
  return Array.from({ length: callers }, (_, index) => issuer.mint(claimsFor(tenantOf(index))));
}

/** Returns one request for each token, to the subdomain of its tenant. */
export function trafficWith(tokens: readonly string[]): Traffic {
  return trafficOf(tokens.map((token, index) => callerHeaders(token, tenantOf(index))));
}

/** Returns the headers of a request with this token and the host of this tenant. */
export function callerHeaders(
  token: string | undefined,
  tenant: string | undefined,
): Readonly<Record<string, string>> {
  return {
    Host: tenant === undefined ? "localhost:8000" : `${tenant}.${baseDomain}:8000`,
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
  };
}

/** Returns the ids of a thousand revoked tokens, for an in-memory revocation check. */
export function createRevokedIds(): Set<string> {
  return new Set(Array.from({ length: 1000 }, () => claimsFor("")["jti"] as string));
}

/** Returns the tenant of a caller: sixteen tenants in rotation. */
export function tenantOf(index: number): string {
  return `tenant-${String(index % tenants).padStart(2, "0")}`;
}
