import type { Answer } from "../answer.ts";
import {
  type Check,
  check,
  every,
  given,
  is,
  must,
  notApplicable,
  ruledOut,
  type Verdict,
} from "../check.ts";
import { show } from "../show.ts";
import { isRefusal, rights } from "./callers.ts";
import { loggedId } from "./samples.ts";
import {
  actsIn,
  callers,
  inTenant,
  listened,
  naming,
  needs,
  needsCaller,
  noSource,
  subjectsAreTenants,
  tenantRoute,
  tenants,
  tokenOf,
} from "./tenants.ts";

/** Checks of who may act in a tenant, and of the answers to others. */
export const tenancyChecks: readonly Check[] = [
  check("TEN-3", { needs: ["tenancy"] }, async (kit) => {
    if (!kit.settings.tenancy.requireTenant) return ruledOut("a tenant is not required");
    const token = callers(kit) ? tokenOf(kit, undefined) : undefined;
    // An unknown path may be a 404 before the tenant is checked.
    const unscoped = await kit.ask(kit.settings.probes.protected ?? `/${kit.unique()}`, { token });
    const verdicts = [must(unscoped.status === 403, `${unscoped.status} without a tenant`, "403")];
    for (const path of ["/health", "/ready"]) {
      const { status } = await kit.get(path, { token });
      verdicts.push(must(status !== 403, `${path}: ${status}`, "exempt"));
    }
    return every(verdicts);
  }),
  check("TEN-6", { needs: needsCaller }, async (kit) => {
    const [own, other] = tenants(kit);
    const verdicts: Verdict[] = [];
    for (const source of await listened(kit)) {
      const named = naming(kit, source, other);
      const anonymous = await tenantRoute(kit, named);
      verdicts.push(
        must(anonymous.status === 401, `${anonymous.status} by ${source} without a session`, "401"),
      );
      const foreign = await tenantRoute(kit, { ...named, token: tokenOf(kit, own) });
      // TEN-4 judges whether the request acts in the named tenant.
      if (actsIn(kit, foreign) !== other) {
        verdicts.push(
          must(
            foreign.status === 403,
            `${foreign.status} by ${source} with a token of another tenant`,
            "403",
          ),
        );
      }
      if (!kit.settings.tenancy.trustUnscopedPrincipals && !subjectsAreTenants(kit)) {
        const unscoped = await tenantRoute(kit, { ...named, token: tokenOf(kit, undefined) });
        verdicts.push(
          must(unscoped.status === 403, `${unscoped.status} by ${source} with a token of no tenant`, "403"),
        );
      }
    }
    return verdicts.length === 0 ? noSource(kit, "no unsigned source is listed") : every(verdicts);
  }),
  check("TEN-7", { needs: needsCaller }, async (kit) => {
    if (!kit.settings.tenancy.trustUnscopedPrincipals) {
      return ruledOut("callers without a tenant are not trusted");
    }
    const [tenant] = tenants(kit);
    const verdicts: Verdict[] = [];
    for (const source of await listened(kit)) {
      const answer = await tenantRoute(kit, {
        ...naming(kit, source, tenant),
        token: tokenOf(kit, undefined),
      });
      verdicts.push(inTenant(kit, answer, tenant, `a caller without a tenant and ${source}`));
    }
    return verdicts.length === 0 ? noSource(kit, "no unsigned source is listed") : every(verdicts);
  }),
  check("TEN-10", { needs }, async (kit) => {
    const unscoped = callers(kit) && kit.settings.keys !== undefined && !subjectsAreTenants(kit);
    const answer = await tenantRoute(kit, unscoped ? { token: tokenOf(kit, undefined) } : {});
    return must(isRefusal(answer), `${answer.status} without any tenant`, "403");
  }),
  check("TEN-16", { needs: ["tenancy"] }, async (kit) => {
    if (!kit.settings.tenancy.requireTenant) return ruledOut("a tenant is not required");
    const token = callers(kit) ? tokenOf(kit, undefined) : undefined;
    const verdicts: Verdict[] = [];
    for (const path of ["/metrics", "/info", "/openapi.json", "/.well-known/x", "POST /auth/refresh"]) {
      const { status } = await kit.ask(path, { token });
      verdicts.push(must(status !== 403, `${path}: ${status}`, "exempt"));
    }
    const beside = await kit.get("/healthy", { token });
    verdicts.push(
      must(beside.status === 403, `/healthy: ${beside.status}`, "403: only whole segments are exempt"),
    );
    return every(verdicts);
  }),
  check("TEN-17", { needs: ["tenancy", "auth"] }, async (kit) => {
    const source = (await listened(kit)).find((each) => each !== "path");
    if (source === undefined) return ruledOut("neither subdomain nor header is a source");
    if (!kit.settings.tenancy.requireTenant) return ruledOut("a tenant is not required");
    const { status } = await kit.get(`/${kit.unique()}`, naming(kit, source, tenants(kit)[1]));
    return must(status === 401, `${status} for a named tenant without a session`, "401");
  }),
  check("TEN-18", { needs: ["tenancy", "probe:requestedTenant"] }, async (kit) => {
    const requestedTenant = given(kit.settings.probes.requestedTenant);
    const token = callers(kit) && kit.settings.keys !== undefined ? kit.tokens.mint(rights(kit)) : undefined;
    const { status } = await kit.ask(requestedTenant, { token });
    return must(status === 404, `${status} for a request that names no tenant`, "404");
  }),
  check("TEN-19", { needs: needsCaller }, async (kit) => {
    const [own, other] = tenants(kit);
    const [source] = await listened(kit);
    const cases: [string, Answer][] = [
      ["this request is not scoped to a tenant", await tenantRoute(kit, { token: tokenOf(kit, undefined) })],
    ];
    if (source !== undefined) {
      const named = naming(kit, source, other);
      cases.push([
        `this session is scoped to tenant '${own}', and the request names '${other}'`,
        await tenantRoute(kit, { ...named, token: tokenOf(kit, own) }),
      ]);
      if (!kit.settings.tenancy.trustUnscopedPrincipals) {
        cases.push([
          `this account is not scoped to tenant '${other}': its token carries no tenant`,
          await tenantRoute(kit, { ...named, token: tokenOf(kit, undefined) }),
        ]);
      }
    }
    const refused = cases.filter(([, { status, object }]) => status === 403 && object !== undefined);
    if (refused.length === 0) return notApplicable("no 403 was seen: see TEN-6 and TEN-10");
    return every(refused.map(([text, { object }]) => is("detail", object?.["detail"], text)));
  }),
  check("TEN-20", { needs: ["log", "tenancy"] }, async (kit) => {
    if ((await listened(kit)).includes("header")) return ruledOut("the header is a source");
    const id = kit.unique();
    const claimed = `t${"x".repeat(200)}`;
    const answer = await kit.get(`/${kit.unique()}`, {
      headers: [
        ["X-Request-ID", id],
        ["X-Tenant-ID", claimed],
      ],
    });
    const isAccess = ({ value }: { value: Readonly<Record<string, unknown>> | undefined }): boolean =>
      value?.["message"] === "request";
    const line = ((await kit.log?.about(loggedId(answer, id), isAccess)) ?? []).find(isAccess);
    if (line === undefined) return notApplicable("no access line: see LOG-3");
    const { tenant_claimed: seen, tenant_id: granted } = line.value ?? {};
    return every([
      must(granted === undefined, () => `tenant_id ${show(granted)} of a header`, "no tenant_id"),
      must(
        seen === claimed.slice(0, 128),
        () => `tenant_claimed ${show(seen)}`,
        "tenant_claimed with 128 characters of the header",
      ),
    ]);
  }),
];
