import type { Answer } from "../answer.ts";
import type { Need } from "../check.ts";
import type { Verdict } from "../conformance-report.ts";
import { rights } from "../grant.ts";
import type { Kit } from "../kit.ts";
import { type Extra, requestOf } from "../requests.ts";
import { show } from "../show.ts";
import { must, notApplicable, ruledOut } from "../verdict.ts";

export const needs: readonly Need[] = ["tenancy", "probe:tenant"];
export const needsCaller: readonly Need[] = [...needs, "auth", "keys"];

export function tenants(kit: Kit): readonly [string, string] {
  const [first = "acme", second = "globex"] = kit.settings.tenancy.tenants;
  return [first, second];
}

/** Returns a token with or without a tenant. */
export function tokenOf(kit: Kit, tenant: string | undefined): string {
  const { tenantClaim: claim } = kit.settings.claims;
  return kit.tokens.mint({ ...rights(kit), claims: { [claim]: tenant } });
}

export type Unsigned = "subdomain" | "path" | "header";
export const unsigned: readonly Unsigned[] = ["subdomain", "path", "header"];

/** Returns the headers, host or path with which a request names a tenant through an unsigned source. */
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

/** Returns the unsigned sources that the service uses and that work with the `tenant` probe. */
export async function usableSources(kit: Kit): Promise<readonly Unsigned[]> {
  const { sources } = kit.settings.tenancy;
  const fault = await pathFault(kit);
  return unsigned.filter((source) => sources.includes(source) && (source !== "path" || fault === undefined));
}

/**
 * Returns why a path cannot name the tenant of the `tenant` probe; undefined if it can, or if paths are not a source.
 */
export function pathFault(kit: Kit): Promise<string | undefined> {
  return kit.once("tenant by path", async () => {
    const { tenancy, keys, probes } = kit.settings;
    if (!tenancy.sources.includes("path") || probes.tenant === undefined) return undefined;
    const [tenant] = tenants(kit);
    const token = kit.has("auth") && keys !== undefined ? tokenOf(kit, tenant) : undefined;
    const named = naming(kit, "path", tenant);
    const { status } = await tenantRoute(kit, { ...named, token });
    if (status !== 404 && status !== 405) return undefined;
    if ((await tenantRoute(kit, { token })).status === 404) return undefined;
    return `the probe \`tenant\` is not served below ${tenancy.pathPrefix}/<tenant>: ${status} for ${named.path}`;
  });
}

/** Returns the verdict for a service without a source that can name a tenant. */
export async function noSource(kit: Kit, reason: string): Promise<Verdict> {
  const fault = await pathFault(kit);
  return fault === undefined ? ruledOut(reason) : notApplicable(fault);
}

/**
 * Returns additions to a request without a token, so that the missing token is the only reason to refuse it: a tenant,
 * if every request needs one. Undefined if no source of the service can name a tenant.
 */
export async function anonymously(kit: Kit): Promise<Extra | undefined> {
  if (!kit.has("tenancy") || !kit.settings.tenancy.requireTenant) return {};
  const source = (await usableSources(kit)).find((each) => each !== "path");
  return source && naming(kit, source, tenants(kit)[0]);
}

export function isBeforeToken(kit: Kit, source: Unsigned): boolean {
  const { sources } = kit.settings.tenancy;
  return sources.includes(source) && sources.indexOf(source) < sources.indexOf("token");
}

export function tenantRoute(kit: Kit, extra: Extra = {}): Promise<Answer> {
  return kit.ask(kit.settings.probes.tenant?.request ?? "/", extra);
}

/** Returns the tenant in a successful response; undefined if the response does not contain one. */
export function tenantIn(kit: Kit, answer: Answer): unknown {
  return answer.ok ? answer.object?.[kit.settings.probes.tenant?.member ?? "tenant"] : undefined;
}

/** Requires a successful response for this tenant. A response that does not show its tenant passes. */
export function inTenant(kit: Kit, answer: Answer, tenant: string, what: string): Verdict {
  const seen = tenantIn(kit, answer);
  return must(
    answer.ok && (seen === undefined || seen === tenant),
    `${answer.status} with tenant ${show(seen)} for ${what}`,
    `tenant ${show(tenant)}`,
  );
}

/** Whether the subject of a token without a tenant is used as the tenant. */
export function subjectsAreTenants(kit: Kit): boolean {
  return kit.has("auth") && kit.settings.tenancy.sources.includes("user");
}
