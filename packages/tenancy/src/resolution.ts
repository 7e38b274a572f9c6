import { isSubjectTenant } from "./slug.ts";

/** The sources of a tenant (TEN-1). */
export const TENANT_SOURCES = ["token", "user", "subdomain", "path", "header"] as const;
export type TenantSource = (typeof TENANT_SOURCES)[number];

/** The properties of a verified caller that tenancy uses. A `Principal` has them. */
export interface Caller {
  /** The caller's id; also the tenant when the source is `user`. */
  readonly subject?: string | undefined;
  /** The tenant in the caller's signed token. */
  readonly tenant?: string | undefined;
}

/** Settings of {@link resolveTenant}. */
export interface Policy<R> {
  /** The listed signed sources, in order. */
  readonly signed: readonly ("token" | "user")[];
  /** One reader per listed unsigned source, in order: returns the tenant that a request names there. */
  readonly named: readonly ((request: R) => string | undefined)[];
  /** Whether an earlier middleware verifies callers: the caller must then belong to a named tenant (TEN-6). */
  readonly auth: boolean;
  /** Whether a caller without a tenant may act in the named tenant (TEN-7). */
  readonly trustUnscoped: boolean;
}

/**
 * The reason why a request has no tenant:
 * - `no_session`: it names a tenant, but has no caller;
 * - `mismatch`: it names a tenant, but the caller belongs to another tenant;
 * - `unscoped`: it names a tenant, but the caller has no tenant;
 * - `anonymous`: it neither names a tenant nor has a caller, although callers are verified;
 * - `unresolved`: it names no tenant, and the caller has no tenant or callers are not verified.
 */
export type Refusal = "no_session" | "mismatch" | "unscoped" | "anonymous" | "unresolved";

/** Result of {@link resolveTenant} for one request. */
export interface Resolution {
  /** The granted tenant; undefined exactly when there is a refusal. */
  readonly tenant: string | undefined;
  /** The tenant that the request names, granted or not. */
  readonly requested: string | undefined;
  readonly refusal: Refusal | undefined;
  /** The tenant name that was refused. */
  readonly refused: string | undefined;
  /** For a mismatch, the tenant that the caller belongs to. */
  readonly scope: string | undefined;
}

const ANONYMOUS = without("anonymous");
const UNRESOLVED = without("unresolved");

/**
 * Applies the rules of tenancy to one request (TEN-4 to TEN-9). Independent of HTTP.
 *
 * With authentication on, the caller must belong to every tenant that the request names, not only to the first: a request
 * whose path and host name different tenants never passes. A tenant claim counts even if `token` is not listed, unless the
 * source `user` yields a tenant; otherwise a caller of one tenant could act in any other tenant.
 */
export function resolveTenant<R>(policy: Policy<R>, caller: Caller | undefined, request: R): Resolution {
  if (!policy.auth && caller === undefined) return firstNamed(policy, request);
  let tenant = caller === undefined ? undefined : signedTenant(policy, caller);
  let requested: string | undefined;
  for (const nameIn of policy.named) {
    const name = nameIn(request);
    if (name === undefined) continue;
    requested ??= name;
    if (caller === undefined) return refusedFor("no_session", requested, name, undefined);
    if (tenant === undefined) {
      if (!policy.trustUnscoped) return refusedFor("unscoped", requested, name, undefined);
      tenant = name;
    } else if (tenant !== name) {
      return refusedFor("mismatch", requested, name, tenant);
    }
  }
  if (tenant !== undefined) return granted(tenant, requested);
  return caller === undefined ? ANONYMOUS : UNRESOLVED;
}

function firstNamed<R>(policy: Policy<R>, request: R): Resolution {
  for (const nameIn of policy.named) {
    const name = nameIn(request);
    if (name !== undefined) return granted(name, name);
  }
  return UNRESOLVED;
}

function signedTenant<R>(policy: Policy<R>, { subject, tenant: claim }: Caller): string | undefined {
  const held = claim === "" ? undefined : claim;
  for (const source of policy.signed) {
    if (source === "token") {
      if (held !== undefined) return held;
    } else if (subject !== undefined && isSubjectTenant(subject)) {
      return subject;
    }
  }
  return held;
}

function granted(tenant: string, requested: string | undefined): Resolution {
  return { tenant, requested, refusal: undefined, refused: undefined, scope: undefined };
}

function refusedFor(
  refusal: Refusal,
  requested: string,
  refused: string,
  scope: string | undefined,
): Resolution {
  return { tenant: undefined, requested, refusal, refused, scope };
}

function without(refusal: Refusal): Resolution {
  return { tenant: undefined, requested: undefined, refusal, refused: undefined, scope: undefined };
}
