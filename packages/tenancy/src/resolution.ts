import { isSubjectTenant } from "./slug.ts";

/** Where a tenant may come from (TEN-1). */
export const TENANT_SOURCES = ["token", "user", "subdomain", "path", "header"] as const;
export type TenantSource = (typeof TENANT_SOURCES)[number];

/** What tenancy needs to know about a verified caller. A `Principal` is one. */
export interface Caller {
  /** Who it is; the tenant of the source `user`. */
  readonly subject?: string | undefined;
  /** The tenant that a signature binds the caller to. */
  readonly tenant?: string | undefined;
}

/** What the rules are applied with. */
export interface Policy<R> {
  /** The signed sources among those that were listed, in their order. */
  readonly signed: readonly ("token" | "user")[];
  /** For each unsigned source that was listed, in their order: the tenant that a request names there. */
  readonly named: readonly ((request: R) => string | undefined)[];
  /** Whether callers are verified in front: then a name must be backed (TEN-6). */
  readonly auth: boolean;
  /** Whether a caller without a tenant may act in the one that is named (TEN-7). */
  readonly trustUnscoped: boolean;
}

/**
 * Why a request has no tenant:
 * - `no_session`: it names one, and there is no caller to back the name;
 * - `mismatch`: it names one, and the caller belongs to another;
 * - `unscoped`: it names one, and the caller belongs to none;
 * - `anonymous`: it names none, and there is no caller although callers are verified;
 * - `unresolved`: it names none, and the caller has none either.
 */
export type Refusal = "no_session" | "mismatch" | "unscoped" | "anonymous" | "unresolved";

/** What the rules say about a request. */
export interface Resolution {
  /** The tenant that the request acts in; undefined exactly when there is a refusal. */
  readonly tenant: string | undefined;
  /** The tenant that the request names, be it granted or not. */
  readonly requested: string | undefined;
  readonly refusal: Refusal | undefined;
  /** The name that was refused. */
  readonly refused: string | undefined;
  /** For a mismatch: the tenant that the caller belongs to. */
  readonly scope: string | undefined;
}

const ANONYMOUS = without("anonymous");
const UNRESOLVED = without("unresolved");

/**
 * The five rules of tenancy (TEN-4 to TEN-9). Knows nothing of HTTP.
 *
 * With authentication on, every name that a request carries must be backed, not only the first: no handler gets to
 * see a request whose path says one tenant and whose host another. A claim counts where `token` is not listed too: it
 * can only confine a caller, and leaving it out would let the caller go anywhere that is named.
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
