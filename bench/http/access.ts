import { type Traffic, trafficOf } from "./route.ts";
import { claimsFor, type Issuer } from "./tokens.ts";

/** The domain whose subdomains name tenants. */
export const baseDomain = "bench.example";
/** What the route asks for. */
export const scope = "items:read";

const tenants = 16;

/** Callers in rotation, each with a token of its own: the token at `i` is of {@link tenantOf}`(i)`. */
export function mintTokens(issuer: Issuer, callers: number): readonly string[] {
  return Array.from({ length: callers }, (_, index) => issuer.mint(claimsFor(tenantOf(index))));
}

/** Their requests: each to the subdomain of the caller's tenant. */
export function trafficWith(tokens: readonly string[]): Traffic {
  return trafficOf(tokens.map((token, index) => callerHeaders(token, tenantOf(index))));
}

/** The headers of a request with this token that names this tenant. */
export function callerHeaders(
  token: string | undefined,
  tenant: string | undefined,
): Readonly<Record<string, string>> {
  return {
    Host: tenant === undefined ? "localhost:8000" : `${tenant}.${baseDomain}:8000`,
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
  };
}

/** Ids of tokens that were revoked: a store of a thousand, in memory. */
export function createRevokedIds(): Set<string> {
  return new Set(Array.from({ length: 1000 }, () => claimsFor("")["jti"] as string));
}

/** Sixteen tenants in rotation. */
export function tenantOf(index: number): string {
  return `tenant-${String(index % tenants).padStart(2, "0")}`;
}
