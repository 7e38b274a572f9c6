import type { Answer } from "../answer.ts";
import { type Check, every, must, type Need, notApplicable, pass, type Verdict } from "../check.ts";
import type { Kit } from "../kit.ts";
import { type Extra, requestOf } from "../requests.ts";
import { show } from "../show.ts";
import { isRefusal, rights } from "./callers.ts";
import { loggedId } from "./samples.ts";

const needs: readonly Need[] = ["tenancy", "probe:tenant"];
const needsCaller: readonly Need[] = [...needs, "auth", "keys"];

function tenants(kit: Kit): readonly [string, string] {
  const [first = "acme", second = "globex"] = kit.settings.tenancy.tenants;
  return [first, second];
}

/** A token with a tenant, or with none. */
function tokenOf(kit: Kit, tenant: string | undefined): string {
  const claim = kit.tokens.keys.tenantClaim ?? "tenant_id";
  return kit.tokens.mint({ ...rights(kit), claims: { [claim]: tenant } });
}

type Unsigned = "subdomain" | "path" | "header";
const unsigned: readonly Unsigned[] = ["subdomain", "path", "header"];

/** How a request names a tenant by a source that nobody has signed. */
function naming(kit: Kit, source: Unsigned, tenant: string): Extra {
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
function listened(kit: Kit): readonly Unsigned[] {
  const { sources } = kit.settings.tenancy;
  return unsigned.filter((source) => sources.includes(source));
}

function isBeforeToken(kit: Kit, source: Unsigned): boolean {
  const { sources } = kit.settings.tenancy;
  return sources.includes(source) && sources.indexOf(source) < sources.indexOf("token");
}

function tenantRoute(kit: Kit, extra: Extra = {}): Promise<Answer> {
  return kit.ask(kit.settings.probes.tenant?.request ?? "/", extra);
}

/** The tenant that a successful answer acts in; undefined when it does not tell. */
function actsIn(kit: Kit, answer: Answer): unknown {
  return answer.ok ? answer.object?.[kit.settings.probes.tenant?.member ?? "tenant"] : undefined;
}

/** An answer that acts in a tenant, as far as it tells. */
function inTenant(kit: Kit, answer: Answer, tenant: string, what: string): Verdict {
  const seen = actsIn(kit, answer);
  return must(
    answer.ok && (seen === undefined || seen === tenant),
    () => `${answer.status} in ${show(seen)} with ${what}`,
    `tenant ${show(tenant)}`,
  );
}

/** Whether a caller whose token names no tenant has one all the same. */
function subjectsAreTenants(kit: Kit): boolean {
  return kit.settings.tenancy.sources.includes("user");
}

/** Whether a caller is asked for at all: with authentication off a named tenant is the tenant. */
function callers(kit: Kit): boolean {
  return kit.has("auth");
}

export const tenancyChecks: readonly Check[] = [
  {
    rule: "TEN-1",
    needs,
    async run(kit) {
      const [tenant] = tenants(kit);
      const { sources } = kit.settings.tenancy;
      const verdicts: Verdict[] = [];
      if (callers(kit) && sources.includes("token")) {
        const answer = await tenantRoute(kit, { token: tokenOf(kit, tenant) });
        verdicts.push(inTenant(kit, answer, tenant, "a tenant in the token"));
      }
      for (const source of listened(kit)) {
        const token = callers(kit) ? tokenOf(kit, tenant) : undefined;
        const answer = await tenantRoute(kit, { ...naming(kit, source, tenant), token });
        verdicts.push(inTenant(kit, answer, tenant, `a tenant by ${source}`));
      }
      return every(verdicts);
    },
  },
  {
    rule: "TEN-3",
    needs: ["tenancy"],
    async run(kit) {
      if (!kit.settings.tenancy.requireTenant) return notApplicable("a tenant is not required");
      const token = callers(kit) ? tokenOf(kit, undefined) : undefined;
      const unknown = await kit.get(`/${kit.unique()}`, { token });
      const verdicts = [must(unknown.status === 403, `${unknown.status} without a tenant`, "403")];
      for (const path of ["/health", "/ready"]) {
        const { status } = await kit.get(path, { token });
        verdicts.push(must(status !== 403, `${path}: ${status}`, "exempt"));
      }
      return every(verdicts);
    },
  },
  {
    rule: "TEN-4",
    needs: needsCaller,
    async run(kit) {
      const [own, other] = tenants(kit);
      const verdicts: Verdict[] = [];
      for (const source of unsigned) {
        if (source === "subdomain" && kit.settings.tenancy.baseDomain === "") continue;
        if (source === "path" && !listened(kit).includes("path")) continue;
        // One that is listed before the token is TEN-8's to judge.
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
    },
  },
  {
    rule: "TEN-5",
    needs,
    async run(kit) {
      if (listened(kit).includes("header")) return notApplicable("the header is a source");
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
        // Acting in the named tenant is TEN-4's to judge.
        if (actsIn(kit, scoped) !== other) {
          verdicts.push(
            must(scoped.ok, `${scoped.status} with X-Tenant-ID and a token of ${own}`, "ignored"),
          );
        }
      }
      return every(verdicts);
    },
  },
  {
    rule: "TEN-6",
    needs: needsCaller,
    async run(kit) {
      const [own, other] = tenants(kit);
      const verdicts: Verdict[] = [];
      for (const source of listened(kit)) {
        const named = naming(kit, source, other);
        const anonymous = await tenantRoute(kit, named);
        verdicts.push(
          must(anonymous.status === 401, `${anonymous.status} by ${source} without a session`, "401"),
        );
        const foreign = await tenantRoute(kit, { ...named, token: tokenOf(kit, own) });
        // Acting in the named tenant is TEN-4's to judge.
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
      return verdicts.length === 0 ? notApplicable("no unsigned source is listed") : every(verdicts);
    },
  },
  {
    rule: "TEN-7",
    needs: needsCaller,
    async run(kit) {
      if (!kit.settings.tenancy.trustUnscopedPrincipals) {
        return notApplicable("callers without a tenant are not trusted");
      }
      const [tenant] = tenants(kit);
      const verdicts: Verdict[] = [];
      for (const source of listened(kit)) {
        const answer = await tenantRoute(kit, {
          ...naming(kit, source, tenant),
          token: tokenOf(kit, undefined),
        });
        verdicts.push(inTenant(kit, answer, tenant, `a caller without a tenant and ${source}`));
      }
      return every(verdicts);
    },
  },
  {
    rule: "TEN-8",
    needs: needsCaller,
    async run(kit) {
      const [own, other] = tenants(kit);
      const first = listened(kit).filter((source) => isBeforeToken(kit, source));
      if (first.length === 0) return notApplicable("no unsigned source is listed before the token");
      const verdicts: Verdict[] = [];
      for (const source of first) {
        const answer = await tenantRoute(kit, { ...naming(kit, source, other), token: tokenOf(kit, own) });
        verdicts.push(must(!answer.ok, `${answer.status} by ${source}, listed before the token`, "403"));
      }
      return every(verdicts);
    },
  },
  {
    rule: "TEN-9",
    needs,
    async run(kit) {
      if (callers(kit)) return notApplicable("authentication is on");
      const [first, second] = tenants(kit);
      const order = kit.settings.tenancy.sources.filter((source) => unsigned.includes(source as Unsigned));
      const [winner, loser] = order as readonly Unsigned[];
      if (winner === undefined) return notApplicable("no unsigned source is listed");
      if (loser === undefined) return pass;
      const [by, also] = [naming(kit, winner, first), naming(kit, loser, second)];
      const answer = await tenantRoute(kit, { ...also, ...by });
      return inTenant(kit, answer, first, `${first} by ${winner} and ${second} by ${loser}`);
    },
  },
  {
    rule: "TEN-10",
    needs,
    async run(kit) {
      const unscoped = callers(kit) && kit.settings.keys !== undefined && !subjectsAreTenants(kit);
      const answer = await tenantRoute(kit, unscoped ? { token: tokenOf(kit, undefined) } : {});
      return must(isRefusal(answer), `${answer.status} without any tenant`, "403");
    },
  },
  {
    rule: "TEN-12",
    needs,
    async run(kit) {
      const [tenant] = tenants(kit);
      const source = listened(kit).find((each) => each !== "header");
      if (source === undefined) return notApplicable("neither subdomain nor path is a source");
      const verdicts: Verdict[] = [];
      for (const slug of ["-dash", "under_score", "x".repeat(64)]) {
        // What is no slug names nobody, so the token alone decides; by path the route is another one.
        const token = callers(kit) ? tokenOf(kit, tenant) : undefined;
        const answer = await tenantRoute(kit, { ...naming(kit, source, slug), token });
        const seen = actsIn(kit, answer);
        const taken = callers(kit) ? answer.status === 403 : answer.ok;
        verdicts.push(
          must(
            seen !== slug && !taken,
            `${answer.status}: ${show(slug)} was taken for a tenant`,
            "it is no slug",
          ),
        );
      }
      return every(verdicts);
    },
  },
  {
    rule: "TEN-13",
    needs: needsCaller,
    async run(kit) {
      if (!listened(kit).includes("subdomain")) return notApplicable("subdomain is no source");
      const [tenant, other] = tenants(kit);
      const { baseDomain } = kit.settings.tenancy;
      const token = tokenOf(kit, tenant);
      const verdicts: Verdict[] = [];
      const strangers = kit.has("trusted_hosts") ? [] : [`${other}.else`];
      for (const host of [
        `www.${baseDomain}`,
        `api.${baseDomain}`,
        `a.${other}.${baseDomain}`,
        ...strangers,
      ]) {
        const answer = await tenantRoute(kit, { host, token });
        verdicts.push(inTenant(kit, answer, tenant, `Host: ${host}, which names none`));
      }
      for (const host of [`${other.toUpperCase()}.${baseDomain}:8443`, `${other}.${baseDomain}.`]) {
        const { ok, status } = await tenantRoute(kit, { host, token: tokenOf(kit, other) });
        verdicts.push(must(ok, `${status} with Host: ${host}`, `tenant ${other}`));
      }
      return every(verdicts);
    },
  },
  {
    rule: "TEN-14",
    needs: needsCaller,
    async run(kit) {
      if (!listened(kit).includes("path")) return notApplicable("path is no source");
      const [tenant, other] = tenants(kit);
      const own = await tenantRoute(kit, { ...naming(kit, "path", tenant), token: tokenOf(kit, tenant) });
      if (!own.ok) return notApplicable("the path names no tenant: see TEN-1");
      const { path = "/" } = naming(kit, "path", other);
      const { pathPrefix } = kit.settings.tenancy;
      const beside = path.replace(pathPrefix, `${pathPrefix}eam`);
      const { status } = await kit.get(beside, { token: tokenOf(kit, tenant) });
      return must(status !== 403, `${status} for ${beside}`, "the prefix is a whole segment");
    },
  },
  {
    rule: "TEN-15",
    needs: needsCaller,
    async run(kit) {
      if (!kit.settings.tenancy.sources.includes("user")) return notApplicable("user is no source");
      const claim = kit.tokens.keys.tenantClaim ?? "tenant_id";
      const token = kit.tokens.mint({ ...rights(kit), claims: { [claim]: undefined, sub: "user-7" } });
      return inTenant(kit, await tenantRoute(kit, { token }), "user-7", "the subject as source");
    },
  },
  {
    rule: "TEN-16",
    needs: ["tenancy"],
    async run(kit) {
      if (!kit.settings.tenancy.requireTenant) return notApplicable("a tenant is not required");
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
    },
  },
  {
    rule: "TEN-17",
    needs: ["tenancy", "auth"],
    async run(kit) {
      const source = listened(kit).find((each) => each !== "path");
      if (source === undefined) return notApplicable("neither subdomain nor header is a source");
      if (!kit.settings.tenancy.requireTenant) return notApplicable("a tenant is not required");
      const { status } = await kit.get(`/${kit.unique()}`, naming(kit, source, tenants(kit)[1]));
      return must(status === 401, `${status} for a named tenant without a session`, "401");
    },
  },
  {
    rule: "TEN-18",
    needs: ["tenancy", "probe:requestedTenant"],
    async run(kit) {
      const { requestedTenant } = kit.settings.probes;
      if (requestedTenant === undefined) return notApplicable("no probe");
      const token =
        callers(kit) && kit.settings.keys !== undefined ? kit.tokens.mint(rights(kit)) : undefined;
      const { status } = await kit.ask(requestedTenant, { token });
      return must(status === 404, `${status} for a request that names no tenant`, "404");
    },
  },
  {
    rule: "TEN-19",
    needs: needsCaller,
    async run(kit) {
      const [own, other] = tenants(kit);
      const [source] = listened(kit);
      const cases: [string, Answer][] = [
        [
          "this request is not scoped to a tenant",
          await tenantRoute(kit, { token: tokenOf(kit, undefined) }),
        ],
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
      return every(
        refused.map(([text, { object }]) =>
          must(object?.["detail"] === text, () => `detail ${show(object?.["detail"])}`, text),
        ),
      );
    },
  },
  {
    rule: "TEN-20",
    needs: ["log", "tenancy"],
    async run(kit) {
      if (listened(kit).includes("header")) return notApplicable("the header is a source");
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
    },
  },
];
