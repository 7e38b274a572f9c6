import type { Answer } from "../answer.ts";
import { check, type Check, given } from "../check.ts";
import { rights } from "../grant.ts";
import { show } from "../show.ts";
import { is, isDenied, must, mustBe, notApplicable, pass, ruledOut, statusIs, succeeds } from "../verdict.ts";
import { refusesCaller } from "./callers.ts";
import { askWithId, isAccess, linesAbout } from "./logs.ts";
import {
  tenantIn,
  inTenant,
  isBeforeToken,
  usableSources,
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

export const tenancyChecks: readonly Check[] = [
  check("TEN-1", { needs }, async function* (kit) {
    const [tenant] = tenants(kit);
    const { sources } = kit.settings.tenancy;
    if (kit.has("auth") && sources.includes("token")) {
      const answer = await tenantRoute(kit, { token: tokenOf(kit, tenant) });
      yield inTenant(kit, answer, tenant, "a tenant in the token");
    }
    for (const source of await usableSources(kit)) {
      const token = kit.has("auth") ? tokenOf(kit, tenant) : undefined;
      const answer = await tenantRoute(kit, { ...naming(kit, source, tenant), token });
      yield inTenant(kit, answer, tenant, `a tenant named by ${source}`);
    }
    const fault = await pathFault(kit);
    if (fault !== undefined) yield notApplicable(fault);
  }),
  check("TEN-4", { needs: needsCaller }, async function* (kit) {
    const [own, other] = tenants(kit);
    for (const source of unsigned) {
      if (source === "subdomain" && kit.settings.tenancy.baseDomain === "") continue;
      if (source === "path" && !(await usableSources(kit)).includes("path")) continue;
      // TEN-8 checks sources that are listed before the token.
      if (isBeforeToken(kit, source)) continue;
      const answer = await tenantRoute(kit, { ...naming(kit, source, other), token: tokenOf(kit, own) });
      const seen = tenantIn(kit, answer);
      yield must(
        seen !== other,
        `a token of ${own} acts in ${other}, which the ${source} names`,
        "the tenant in the token is used",
      );
    }
  }),
  check("TEN-5", { needs }, async function* (kit) {
    if ((await usableSources(kit)).includes("header")) return ruledOut("the header is a source");
    const [own, other] = tenants(kit);
    const named = naming(kit, "header", other);
    const anonymous = await tenantRoute(kit, named);
    yield isDenied(anonymous, "for X-Tenant-ID alone", "the header is ignored");
    if (kit.has("auth") && kit.settings.keys !== undefined) {
      const unscoped = await tenantRoute(kit, { ...named, token: tokenOf(kit, undefined) });
      yield must(
        !unscoped.ok || subjectsAreTenants(kit),
        `${unscoped.status} for X-Tenant-ID and a token without a tenant`,
        "the header is ignored",
      );
      const scoped = await tenantRoute(kit, { ...named, token: tokenOf(kit, own) });
      // TEN-4 checks whether the request uses the named tenant.
      if (tenantIn(kit, scoped) !== other) {
        yield succeeds(scoped, `with X-Tenant-ID and a token of ${own}`, "the header is ignored");
      }
    }
  }),
  check("TEN-8", { needs: needsCaller }, async function* (kit) {
    const [own, other] = tenants(kit);
    const first = (await usableSources(kit)).filter((source) => isBeforeToken(kit, source));
    if (first.length === 0) return noSource(kit, "no unsigned source is listed before the token");
    for (const source of first) {
      const answer = await tenantRoute(kit, { ...naming(kit, source, other), token: tokenOf(kit, own) });
      yield isDenied(
        answer,
        `for another tenant named by ${source}, which is listed before the token`,
        "403",
      );
    }
  }),
  check("TEN-9", { needs }, async (kit) => {
    if (kit.has("auth")) return ruledOut("authentication is on");
    const [first, second] = tenants(kit);
    const named: readonly string[] = await usableSources(kit);
    const order = kit.settings.tenancy.sources.filter((source) => named.includes(source));
    const [winner, loser] = order as readonly Unsigned[];
    if (winner === undefined) return noSource(kit, "no unsigned source is configured");
    if (loser === undefined) return pass;
    const [by, also] = [naming(kit, winner, first), naming(kit, loser, second)];
    const answer = await tenantRoute(kit, { ...also, ...by });
    return inTenant(kit, answer, first, `${first} named by ${winner} and ${second} named by ${loser}`);
  }),
  check("TEN-12", { needs }, async function* (kit) {
    const [tenant] = tenants(kit);
    const source = (await usableSources(kit)).find((each) => each !== "header");
    if (source === undefined) return noSource(kit, "neither subdomain nor path is a source");
    for (const slug of ["-dash", "under_score", "x".repeat(64)]) {
      // An invalid slug names no tenant, so only the token determines the tenant. In a path, such a slug leads to another
      // route.
      const token = kit.has("auth") ? tokenOf(kit, tenant) : undefined;
      const answer = await tenantRoute(kit, { ...naming(kit, source, slug), token });
      const seen = tenantIn(kit, answer);
      const taken = kit.has("auth") ? answer.status === 403 : answer.ok;
      yield must(
        seen !== slug && !taken,
        `${answer.status}: ${show(slug)} was accepted as a tenant`,
        "not a tenant, because it is not a slug",
      );
    }
  }),
  check("TEN-13", { needs: needsCaller }, async function* (kit) {
    if (!(await usableSources(kit)).includes("subdomain")) return ruledOut("subdomain is not a source");
    const [tenant, other] = tenants(kit);
    const { baseDomain } = kit.settings.tenancy;
    const token = tokenOf(kit, tenant);
    const strangers = kit.has("trusted_hosts") ? [] : [`${other}.else`];
    for (const host of [`www.${baseDomain}`, `api.${baseDomain}`, `a.${other}.${baseDomain}`, ...strangers]) {
      const answer = await tenantRoute(kit, { host, token });
      yield inTenant(kit, answer, tenant, `Host: ${host}, which names no tenant`);
    }
    for (const host of [`${other.toUpperCase()}.${baseDomain}:8443`, `${other}.${baseDomain}.`]) {
      const { ok, status } = await tenantRoute(kit, { host, token: tokenOf(kit, other) });
      yield must(ok, `${status} with Host: ${host}`, `tenant ${other}`);
    }
  }),
  check("TEN-14", { needs: needsCaller }, async (kit) => {
    if (!(await usableSources(kit)).includes("path")) return noSource(kit, "path is not a source");
    const [tenant, other] = tenants(kit);
    const own = await tenantRoute(kit, { ...naming(kit, "path", tenant), token: tokenOf(kit, tenant) });
    if (!own.ok) return notApplicable("the path names no tenant: see TEN-1");
    const { path = "/" } = naming(kit, "path", other);
    const { pathPrefix } = kit.settings.tenancy;
    const beside = path.replace(pathPrefix, `${pathPrefix}eam`);
    const { status } = await kit.get(beside, { token: tokenOf(kit, tenant) });
    return must(status !== 403, `${status} for ${beside}`, "no tenant: the prefix is a whole segment");
  }),
  check("TEN-15", { needs: needsCaller }, async (kit) => {
    if (!kit.settings.tenancy.sources.includes("user")) return ruledOut("user is not a source");
    const { tenantClaim: claim } = kit.settings.claims;
    const token = kit.tokens.mint({ ...rights(kit), claims: { [claim]: undefined, sub: "user-7" } });
    return inTenant(kit, await tenantRoute(kit, { token }), "user-7", "the subject of the token as tenant");
  }),
  check("TEN-3", { needs: ["tenancy"] }, async function* (kit) {
    if (!kit.settings.tenancy.requireTenant) return ruledOut("a tenant is not required");
    if (subjectsAreTenants(kit)) return ruledOut("every caller has a tenant");
    const token = kit.has("auth") ? tokenOf(kit, undefined) : undefined;
    // An unknown path may return 404 before the tenant is checked.
    const unscoped = await kit.ask(kit.settings.probes.protected ?? `/${kit.unique()}`, { token });
    yield statusIs(unscoped, 403, "without a tenant");
    for (const path of ["/health", "/ready"]) {
      const { status } = await kit.get(path, { token });
      yield must(status !== 403, `${path}: ${status}`, "not 403: the path is exempt");
    }
  }),
  check("TEN-6", { needs: needsCaller }, async function* (kit) {
    const [own, other] = tenants(kit);
    for (const source of await usableSources(kit)) {
      const named = naming(kit, source, other);
      const anonymous = await tenantRoute(kit, named);
      yield statusIs(anonymous, 401, `for a tenant named by ${source}, without a token`);
      const foreign = await tenantRoute(kit, { ...named, token: tokenOf(kit, own) });
      // TEN-4 checks whether the request uses the named tenant.
      if (tenantIn(kit, foreign) !== other) {
        yield statusIs(foreign, 403, `for a tenant named by ${source}, with a token of another tenant`);
      }
      if (!kit.settings.tenancy.trustUnscopedPrincipals && !subjectsAreTenants(kit)) {
        const unscoped = await tenantRoute(kit, { ...named, token: tokenOf(kit, undefined) });
        yield statusIs(unscoped, 403, `for a tenant named by ${source}, with a token without a tenant`);
      }
    }
    return noSource(kit, "no unsigned source is configured");
  }),
  check("TEN-7", { needs: needsCaller }, async function* (kit) {
    if (!kit.settings.tenancy.trustUnscopedPrincipals) {
      return ruledOut("callers without a tenant are not trusted");
    }
    const [tenant] = tenants(kit);
    for (const source of await usableSources(kit)) {
      const answer = await tenantRoute(kit, {
        ...naming(kit, source, tenant),
        token: tokenOf(kit, undefined),
      });
      yield inTenant(kit, answer, tenant, `a token without a tenant, and the tenant named by ${source}`);
    }
    return noSource(kit, "no unsigned source is configured");
  }),
  check("TEN-10", { needs }, async (kit) => {
    const unscoped = kit.has("auth") && kit.settings.keys !== undefined && !subjectsAreTenants(kit);
    const answer = await tenantRoute(kit, unscoped ? { token: tokenOf(kit, undefined) } : {});
    return refusesCaller(answer, "without any tenant", "403");
  }),
  check("TEN-16", { needs: ["tenancy"] }, async function* (kit) {
    if (!kit.settings.tenancy.requireTenant) return ruledOut("a tenant is not required");
    const token = kit.has("auth") ? tokenOf(kit, undefined) : undefined;
    for (const path of ["/metrics", "/info", "/openapi.json", "/.well-known/x", "POST /auth/refresh"]) {
      const { status } = await kit.ask(path, { token });
      yield must(status !== 403, `${path}: ${status}`, "not 403: the path is exempt");
    }
    if (subjectsAreTenants(kit)) return;
    const beside = await kit.get("/healthy", { token });
    yield must(beside.status === 403, `/healthy: ${beside.status}`, "403: only whole segments are exempt");
  }),
  check("TEN-17", { needs: ["tenancy", "auth"] }, async (kit) => {
    const source = (await usableSources(kit)).find((each) => each !== "path");
    if (source === undefined) return ruledOut("neither subdomain nor header is a source");
    if (!kit.settings.tenancy.requireTenant) return ruledOut("a tenant is not required");
    const answer = await kit.get(`/${kit.unique()}`, naming(kit, source, tenants(kit)[1]));
    return statusIs(answer, 401, "for a request that names a tenant but has no token");
  }),
  check("TEN-18", { needs: ["tenancy", "probe:requestedTenant"] }, async (kit) => {
    const requestedTenant = given(kit.settings.probes.requestedTenant);
    const token =
      kit.has("auth") && kit.settings.keys !== undefined ? kit.tokens.mint(rights(kit)) : undefined;
    return statusIs(await kit.ask(requestedTenant, { token }), 404, "for a request that names no tenant");
  }),
  check("TEN-19", { needs: needsCaller }, async function* (kit) {
    const [own, other] = tenants(kit);
    const [source] = await usableSources(kit);
    const cases: [string, Answer][] = [];
    if (!subjectsAreTenants(kit)) {
      const unscoped = await tenantRoute(kit, { token: tokenOf(kit, undefined) });
      cases.push(["this request is not scoped to a tenant", unscoped]);
    }
    if (source !== undefined) {
      const named = naming(kit, source, other);
      cases.push([
        `this session is scoped to tenant '${own}', and the request names '${other}'`,
        await tenantRoute(kit, { ...named, token: tokenOf(kit, own) }),
      ]);
      if (!kit.settings.tenancy.trustUnscopedPrincipals && !subjectsAreTenants(kit)) {
        cases.push([
          `this account is not scoped to tenant '${other}': its token carries no tenant`,
          await tenantRoute(kit, { ...named, token: tokenOf(kit, undefined) }),
        ]);
      }
    }
    const refused = cases.filter(([, { status, object }]) => status === 403 && object !== undefined);
    if (refused.length === 0)
      return notApplicable("no 403 problem document was received: see TEN-6 and TEN-10");
    yield* refused.map(([text, { object }]) => is("detail", object?.["detail"], text));
  }),
  check("TEN-20", { needs: ["log", "tenancy"] }, async function* (kit) {
    if ((await usableSources(kit)).includes("header")) return ruledOut("the header is a source");
    const claimed = `t${"x".repeat(200)}`;
    const named = { headers: [["X-Tenant-ID", claimed] as const] };
    const { id } = await askWithId(kit, `/${kit.unique()}`, named);
    const line = (await linesAbout(kit, id, isAccess)).find(isAccess);
    if (line === undefined) return notApplicable("no access line: see LOG-3");
    const { tenant_claimed: seen, tenant_id: granted } = line.value ?? {};
    yield must(granted === undefined, `tenant_id ${show(granted)} from X-Tenant-ID`, "no tenant_id");
    yield mustBe(
      seen === claimed.slice(0, 128),
      { tenant_claimed: seen },
      "tenant_claimed with the first 128 characters of X-Tenant-ID",
    );
  }),
];
