import type { Answer } from "../answer.ts";
import { must, type Need, type Verdict } from "../check.ts";
import type { Kit } from "../kit.ts";
import { type Extra, requestOf } from "../requests.ts";
import { show } from "../show.ts";
import { rights } from "./callers.ts";

export const needs: readonly Need[] = ["tenancy", "probe:tenant"];
export const needsCaller: readonly Need[] = [...needs, "auth", "keys"];

export function tenants(kit: Kit): readonly [string, string] {
  const [first = "acme", second = "globex"] = kit.settings.tenancy.tenants;
  return [first, second];
}

/** A token with a tenant, or with none. */
export function tokenOf(kit: Kit, tenant: string | undefined): string {
  const claim = kit.tokens.keys.tenantClaim ?? "tenant_id";
  return kit.tokens.mint({ ...rights(kit), claims: { [claim]: tenant } });
}

export type Unsigned = "subdomain" | "path" | "header";
export const unsigned: readonly Unsigned[] = ["subdomain", "path", "header"];

/** How a request names a tenant by a source that nobody has signed. */
export function naming(kit: Kit, source: Unsigned, tenant: string): Extra {
  const { tenancy, probes, url } = kit.settings;
  if (source === "header") return { headers: [["X-Tenant-ID", tenant]] };
  if (source === "path") {
    const { path } = requestOf(probes.tenant?.request ?? "/");
    return { path: `${tenancy.pathPrefix}/${tenant}${path}` };
  }
  const port = url.port === "" ? "" : `:${url.port}`;
  return { host: `${tenant}.${tenancy.baseDomain}${port}` };
}

/** The unsigned sources that the service listens to. */
export function listened(kit: Kit): readonly Unsigned[] {
  const { sources } = kit.settings.tenancy;
  return unsigned.filter((source) => sources.includes(source));
}

export function isBeforeToken(kit: Kit, source: Unsigned): boolean {
  const { sources } = kit.settings.tenancy;
  return sources.includes(source) && sources.indexOf(source) < sources.indexOf("token");
}

export function tenantRoute(kit: Kit, extra: Extra = {}): Promise<Answer> {
  return kit.ask(kit.settings.probes.tenant?.request ?? "/", extra);
}

/** The tenant that a successful answer acts in; undefined when it does not tell. */
export function actsIn(kit: Kit, answer: Answer): unknown {
  return answer.ok ? answer.object?.[kit.settings.probes.tenant?.member ?? "tenant"] : undefined;
}

/** An answer that acts in a tenant, as far as it tells. */
export function inTenant(kit: Kit, answer: Answer, tenant: string, what: string): Verdict {
  const seen = actsIn(kit, answer);
  return must(
    answer.ok && (seen === undefined || seen === tenant),
    () => `${answer.status} in ${show(seen)} with ${what}`,
    `tenant ${show(tenant)}`,
  );
}

/** Whether a caller whose token names no tenant has one all the same. */
export function subjectsAreTenants(kit: Kit): boolean {
  return kit.settings.tenancy.sources.includes("user");
}

/** Whether a caller is asked for at all: with authentication off a named tenant is the tenant. */
export function callers(kit: Kit): boolean {
  return kit.has("auth");
}
