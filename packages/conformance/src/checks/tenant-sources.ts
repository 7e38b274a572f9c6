import { type Check, check, every, must, notApplicable, pass, ruledOut, type Verdict } from "../check.ts";
import { show } from "../show.ts";
import { rights } from "./callers.ts";
import {
  actsIn,
  callers,
  inTenant,
  isBeforeToken,
  listened,
  naming,
  needs,
  needsCaller,
  noSource,
  pathFault,
  subjectsAreTenants,
  tenantRoute,
  tenants,
  tokenOf,
  type Unsigned,
  unsigned,
} from "./tenants.ts";

/** Checks of the sources of a tenant. */
export const tenantSourceChecks: readonly Check[] = [
  check("TEN-1", { needs }, async (kit) => {
    const [tenant] = tenants(kit);
    const { sources } = kit.settings.tenancy;
    const verdicts: Verdict[] = [];
    if (callers(kit) && sources.includes("token")) {
      const answer = await tenantRoute(kit, { token: tokenOf(kit, tenant) });
      verdicts.push(inTenant(kit, answer, tenant, "a tenant in the token"));
    }
    for (const source of await listened(kit)) {
      const token = callers(kit) ? tokenOf(kit, tenant) : undefined;
      const answer = await tenantRoute(kit, { ...naming(kit, source, tenant), token });
      verdicts.push(inTenant(kit, answer, tenant, `a tenant by ${source}`));
    }
    const fault = await pathFault(kit);
    return every(fault === undefined ? verdicts : [...verdicts, notApplicable(fault)]);
  }),
  check("TEN-4", { needs: needsCaller }, async (kit) => {
    const [own, other] = tenants(kit);
    const verdicts: Verdict[] = [];
    for (const source of unsigned) {
      if (source === "subdomain" && kit.settings.tenancy.baseDomain === "") continue;
      if (source === "path" && !(await listened(kit)).includes("path")) continue;
      // TEN-8 judges a source that is listed before the token.
      if (isBeforeToken(kit, source)) continue;
      const answer = await tenantRoute(kit, { ...naming(kit, source, other), token: tokenOf(kit, own) });
      const seen = actsIn(kit, answer);
      verdicts.push(
        must(
          seen !== other,
          `a token of ${own} acts in ${other}, named by ${source}`,
          "the signed tenant wins",
        ),
      );
    }
    return every(verdicts);
  }),
  check("TEN-5", { needs }, async (kit) => {
    if ((await listened(kit)).includes("header")) return ruledOut("the header is a source");
    const [own, other] = tenants(kit);
    const named = naming(kit, "header", other);
    const anonymous = await tenantRoute(kit, named);
    const verdicts = [must(!anonymous.ok, `${anonymous.status} for X-Tenant-ID alone`, "it is ignored")];
    if (callers(kit) && kit.settings.keys !== undefined) {
      const unscoped = await tenantRoute(kit, { ...named, token: tokenOf(kit, undefined) });
      verdicts.push(
        must(
          !unscoped.ok || subjectsAreTenants(kit),
          `${unscoped.status} for X-Tenant-ID and a caller`,
          "it is ignored",
        ),
      );
      const scoped = await tenantRoute(kit, { ...named, token: tokenOf(kit, own) });
      // TEN-4 judges whether the request acts in the named tenant.
      if (actsIn(kit, scoped) !== other) {
        verdicts.push(must(scoped.ok, `${scoped.status} with X-Tenant-ID and a token of ${own}`, "ignored"));
      }
    }
    return every(verdicts);
  }),
  check("TEN-8", { needs: needsCaller }, async (kit) => {
    const [own, other] = tenants(kit);
    const first = (await listened(kit)).filter((source) => isBeforeToken(kit, source));
    if (first.length === 0) return noSource(kit, "no unsigned source is listed before the token");
    const verdicts: Verdict[] = [];
    for (const source of first) {
      const answer = await tenantRoute(kit, { ...naming(kit, source, other), token: tokenOf(kit, own) });
      verdicts.push(must(!answer.ok, `${answer.status} by ${source}, listed before the token`, "403"));
    }
    return every(verdicts);
  }),
  check("TEN-9", { needs }, async (kit) => {
    if (callers(kit)) return ruledOut("authentication is on");
    const [first, second] = tenants(kit);
    const named: readonly string[] = await listened(kit);
    const order = kit.settings.tenancy.sources.filter((source) => named.includes(source));
    const [winner, loser] = order as readonly Unsigned[];
    if (winner === undefined) return noSource(kit, "no unsigned source is listed");
    if (loser === undefined) return pass;
    const [by, also] = [naming(kit, winner, first), naming(kit, loser, second)];
    const answer = await tenantRoute(kit, { ...also, ...by });
    return inTenant(kit, answer, first, `${first} by ${winner} and ${second} by ${loser}`);
  }),
  check("TEN-12", { needs }, async (kit) => {
    const [tenant] = tenants(kit);
    const source = (await listened(kit)).find((each) => each !== "header");
    if (source === undefined) return noSource(kit, "neither subdomain nor path is a source");
    const verdicts: Verdict[] = [];
    for (const slug of ["-dash", "under_score", "x".repeat(64)]) {
      // An invalid slug names no tenant, so the token alone decides; in a path it leads to another route.
      const token = callers(kit) ? tokenOf(kit, tenant) : undefined;
      const answer = await tenantRoute(kit, { ...naming(kit, source, slug), token });
      const seen = actsIn(kit, answer);
      const taken = callers(kit) ? answer.status === 403 : answer.ok;
      verdicts.push(
        must(
          seen !== slug && !taken,
          `${answer.status}: ${show(slug)} was taken for a tenant`,
          "not a tenant, because it is not a slug",
        ),
      );
    }
    return every(verdicts);
  }),
  check("TEN-13", { needs: needsCaller }, async (kit) => {
    if (!(await listened(kit)).includes("subdomain")) return ruledOut("subdomain is not a source");
    const [tenant, other] = tenants(kit);
    const { baseDomain } = kit.settings.tenancy;
    const token = tokenOf(kit, tenant);
    const verdicts: Verdict[] = [];
    const strangers = kit.has("trusted_hosts") ? [] : [`${other}.else`];
    for (const host of [`www.${baseDomain}`, `api.${baseDomain}`, `a.${other}.${baseDomain}`, ...strangers]) {
      const answer = await tenantRoute(kit, { host, token });
      verdicts.push(inTenant(kit, answer, tenant, `Host: ${host}, which names none`));
    }
    for (const host of [`${other.toUpperCase()}.${baseDomain}:8443`, `${other}.${baseDomain}.`]) {
      const { ok, status } = await tenantRoute(kit, { host, token: tokenOf(kit, other) });
      verdicts.push(must(ok, `${status} with Host: ${host}`, `tenant ${other}`));
    }
    return every(verdicts);
  }),
  check("TEN-14", { needs: needsCaller }, async (kit) => {
    if (!(await listened(kit)).includes("path")) return noSource(kit, "path is not a source");
    const [tenant, other] = tenants(kit);
    const own = await tenantRoute(kit, { ...naming(kit, "path", tenant), token: tokenOf(kit, tenant) });
    if (!own.ok) return notApplicable("the path names no tenant: see TEN-1");
    const { path = "/" } = naming(kit, "path", other);
    const { pathPrefix } = kit.settings.tenancy;
    const beside = path.replace(pathPrefix, `${pathPrefix}eam`);
    const { status } = await kit.get(beside, { token: tokenOf(kit, tenant) });
    return must(status !== 403, `${status} for ${beside}`, "the prefix is a whole segment");
  }),
  check("TEN-15", { needs: needsCaller }, async (kit) => {
    if (!kit.settings.tenancy.sources.includes("user")) return ruledOut("user is not a source");
    const { tenantClaim: claim } = kit.settings.claims;
    const token = kit.tokens.mint({ ...rights(kit), claims: { [claim]: undefined, sub: "user-7" } });
    return inTenant(kit, await tenantRoute(kit, { token }), "user-7", "the subject as source");
  }),
];
