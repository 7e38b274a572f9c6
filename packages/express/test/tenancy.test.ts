import { randomBytes } from "node:crypto";
import { requestedTenant, requireTenant, tenantOf } from "@svc/tenancy";
import { rawRequest, signToken } from "@svc/test-support";
import { expect } from "chai";
import type { Express } from "express";
import request from "supertest";
import { makeService, startService, type TestService } from "./support/test-service.ts";

const secret = randomBytes(32).toString("base64");
const env = { SVC_AUTH_SECRET: secret, SVC_TENANCY_BASE_DOMAIN: "example.com" };
const auth = '[plugin.auth]\nmode = "secret"\nalgorithms = ["HS256"]\n';
const both = `[plugins]\nenabled = ["observability", "metrics", "auth", "tenancy"]\n${auth}`;
const alone = '[plugins]\nenabled = ["observability", "tenancy"]\n';

function routes(app: Express): void {
  app.get("/open", (req, res) => res.json({ tenant: tenantOf(req) ?? null }));
  app.get("/tenant", requireTenant(), (req, res) => res.json({ tenant: tenantOf(req) }));
  app.get("/t/:tenant/page", requireTenant(), (req, res) => res.json({ tenant: tenantOf(req) }));
  app.get("/named", requestedTenant(), (_req, res) => res.json({}));
}

interface Asked {
  readonly path: string;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

function ask({ url }: TestService, { path, claims, headers = {} }: Asked): request.Test {
  const asked = request(url).get(path).set(headers);
  return claims === undefined ? asked : asked.set("Authorization", `Bearer ${signToken(claims, secret)}`);
}

async function seen(test: TestService, asked: Asked): Promise<readonly unknown[]> {
  const { status, body } = await ask(test, asked);
  const { tenant, detail } = body as { readonly tenant?: string; readonly detail?: string };
  return [status, tenant ?? detail];
}

async function refusal(options: Parameters<typeof makeService>[0]): Promise<string> {
  try {
    await makeService(options);
  } catch (error) {
    return String(error);
  }
  return expect.fail("it started");
}

describe("the plugin `tenancy`", () => {
  it("TEN-4 TEN-6 TEN-10 TEN-23 takes the tenant from the token, which must match the subdomain", async () => {
    await using test = await startService({ toml: both, env, routes });
    const acme = { tenant_id: "acme" };
    const host = { Host: "acme.example.com" };
    expect(await seen(test, { path: "/tenant", claims: acme })).to.deep.equal([200, "acme"]);
    expect(await seen(test, { path: "/tenant", claims: acme, headers: host })).to.deep.equal([200, "acme"]);
    expect(await seen(test, { path: "/tenant", headers: host })).to.deep.equal([
      401,
      "authentication required",
    ]);
    expect(await seen(test, { path: "/tenant", claims: { tenant_id: "b" }, headers: host })).to.deep.equal([
      403,
      "this session is scoped to tenant 'b', and the request names 'acme'",
    ]);
    expect(await seen(test, { path: "/tenant", claims: {}, headers: host })).to.deep.equal([
      403,
      "this account is not scoped to tenant 'acme': its token carries no tenant",
    ]);
    expect(await seen(test, { path: "/tenant", claims: {} })).to.deep.equal([
      403,
      "this request is not scoped to a tenant",
    ]);
    expect(await seen(test, { path: "/named" })).to.deep.include(404);
  });

  it("TEN-5 TEN-20 ignores X-Tenant-ID and logs it as claimed", async () => {
    await using test = await startService({ toml: both, env, routes });
    expect(await seen(test, { path: "/open", headers: { "X-Tenant-ID": "victim" } })).to.deep.equal([
      200,
      undefined,
    ]);
    expect(await test.line((line) => line["http_path"] === "/open")).to.include({ tenant_claimed: "victim" });
    await ask(test, { path: "/tenant", claims: { tenant_id: "acme" } });
    const line = await test.line((each) => each["http_path"] === "/tenant");
    expect(line).to.include({ tenant_id: "acme" }).and.to.not.have.property("tenant_claimed");
  });

  it("TEN-3 TEN-16 rejects requests without a tenant, except to the service's own endpoints and exempt paths", async () => {
    const toml = `${both}[plugin.metrics]\npath = "/numbers"\n[plugin.tenancy]\nrequire_tenant = true\nexempt_paths = ["/open"]\n`;
    await using test = await startService({ toml, env, routes });
    for (const path of ["/health", "/ready", "/info", "/numbers", "/open"]) {
      expect((await ask(test, { path })).status, path).to.equal(200);
    }
    expect(await seen(test, { path: "/nowhere" })).to.deep.equal([
      403,
      "this request is not scoped to a tenant",
    ]);
    expect((await ask(test, { path: "/information" })).status).to.equal(403);
    const refused = await ask(test, { path: "/tenant" });
    expect(refused.headers).to.include({ "x-content-type-options": "nosniff" });
  });

  it("TEN-16 exempts a path in the file for its method only, and rejects an invalid path", async () => {
    const toml = `${both}[plugin.tenancy]\nsources = ["token"]\nrequire_tenant = true\n`;
    const add = (app: Express): void => void app.all("/hooks/:name", (_req, res) => res.json({}));
    await using test = await startService({
      toml: `${toml}exempt_paths = ["POST /hooks/:name"]\n`,
      env,
      routes: add,
    });
    expect((await request(test.url).post("/hooks/paid")).status).to.equal(200);
    expect((await request(test.url).get("/hooks/paid")).status).to.equal(403);
    expect(await refusal({ toml: `${toml}exempt_paths = ["hooks"]\n`, env })).to.contain(
      "plugin.tenancy.exempt_paths: ",
    );
  });

  it("TEN-3 EDGE-4 accepts a browser's preflight request without a token", async () => {
    const toml = `[service.cors]\norigins = ["https://app.example.com"]\n${both}[plugin.tenancy]\nrequire_tenant = true\n`;
    await using test = await startService({ toml, env, routes });
    const answer = await request(test.url)
      .options("/tenant")
      .set({ Origin: "https://app.example.com", "Access-Control-Request-Method": "GET" });
    expect(answer.status).to.equal(204);
    const refused = await ask(test, { path: "/tenant", headers: { Origin: "https://app.example.com" } });
    expect([refused.status, refused.headers["access-control-allow-origin"]]).to.deep.equal([
      403,
      "https://app.example.com",
    ]);
  });

  it("TEN-9 when callers are not verified, grants the tenant of the first source that names one", async () => {
    const toml = `${alone}[plugin.tenancy]\nsources = ["path", "subdomain", "header"]\n`;
    await using test = await startService({ toml, env, routes });
    const headers = { Host: "sub.example.com", "X-Tenant-ID": "head" };
    expect(await seen(test, { path: "/t/acme/page", headers })).to.deep.equal([200, "acme"]);
    expect(await seen(test, { path: "/tenant", headers })).to.deep.equal([200, "sub"]);
    expect(await seen(test, { path: "/tenant", headers: { "X-Tenant-ID": "head" } })).to.deep.equal([
      200,
      "head",
    ]);
  });

  it("EDGE-1 TEN-13 reads X-Forwarded-Host only from a trusted proxy", async () => {
    const toml = `${alone}[plugin.tenancy]\nsources = ["subdomain"]\n`;
    const headers = { Host: "a.example.com", "X-Forwarded-Host": "b.example.com" };
    await using test = await startService({ toml, env, routes });
    expect(await seen(test, { path: "/tenant", headers })).to.deep.equal([200, "a"]);
    await using behind = await startService({ toml: `trusted_proxies = ["loopback"]\n${toml}`, env, routes });
    expect(await seen(behind, { path: "/tenant", headers })).to.deep.equal([200, "b"]);
  });

  it("EDGE-1 TEN-13 uses the forwarded host added by the outermost trusted proxy", async () => {
    const toml = `trusted_proxies = ["loopback", "10.0.0.0/8"]\n${alone}[plugin.tenancy]\nsources = ["subdomain"]\n`;
    await using test = await startService({ toml, env, routes });
    const tenant = async (hosts: string, addresses = "203.0.113.7"): Promise<unknown> => {
      const headers = { "X-Forwarded-Host": hosts, "X-Forwarded-For": addresses };
      return (await seen(test, { path: "/open", headers }))[1];
    };
    expect(await tenant("acme.example.com:8443")).to.equal("acme");
    expect(await tenant("sent-by-client.example.com, acme.example.com")).to.equal("acme");
    const twice = "203.0.113.7, 10.1.1.1";
    expect(await tenant("sent-by-client.example.com, acme.example.com, inner", twice)).to.equal("acme");
    expect(await tenant("acme.example.com", twice)).to.equal("acme");
    expect(await tenant("acme.example.com, inner.example.com", twice)).to.equal("acme");
  });

  it("TEN-13 finds no tenant when the Host contradicts the request target", async () => {
    await using test = await startService({
      toml: `${alone}[plugin.tenancy]\nsources = ["subdomain"]\n`,
      env,
      routes,
    });
    const lines = "Host: a.example.com\r\nConnection: close\r\n\r\n";
    const ask = (target: string): Promise<{ readonly body: string }> =>
      rawRequest(test.port, `GET ${target} HTTP/1.1\r\n${lines}`);
    expect((await ask("http://a.example.com/open")).body).to.equal('{"tenant":"a"}');
    expect((await ask("http://b.example.com/open")).body).to.equal('{"tenant":null}');
  });

  it("TEN-21 CFG-12 reports its own faults together with those of the plugin `auth`", async () => {
    const toml = '[plugins]\nenabled = ["metrics", "auth", "tenancy"]\n';
    expect(await refusal({ toml }))
      .to.contain("(2 faults)")
      .and.to.contain("plugin.auth.jwks_url (SVC_AUTH_JWKS_URL)")
      .and.to.contain("plugin.tenancy.base_domain (SVC_TENANCY_BASE_DOMAIN)");
  });

  it("TEN-21 refuses to start with unknown sources, and with the source `subdomain` without a base domain", async () => {
    const noDomain = await refusal({ toml: both, env: { SVC_AUTH_SECRET: secret } });
    expect(noDomain).to.contain("plugin.tenancy.base_domain (SVC_TENANCY_BASE_DOMAIN)");
    const unknown = await refusal({ toml: `${alone}[plugin.tenancy]\nsources = ["tokn"]\n`, env });
    expect(unknown).to.contain("plugin.tenancy.sources (SVC_TENANCY_SOURCES): must be a non-empty list");
    const empty = await refusal({ toml: `${alone}[plugin.tenancy]\nsources = []\n`, env });
    expect(empty).to.contain("plugin.tenancy.sources (SVC_TENANCY_SOURCES): must be a non-empty list");
  });

  it("ignores invalid values in the table of a disabled plugin, or where a variable replaces them", async () => {
    const values =
      'sources = ["tokn"]\nbase_domain = "https://x/"\npath_prefix = "/t/"\n' +
      'reserved_subdomains = ["WWW"]\nexempt_paths = ["hooks"]\n';
    const off = await makeService({ toml: `[plugins]\nenabled = []\n[plugin.tenancy]\n${values}`, env });
    await off.service.stop();
    const set = { ...env, SVC_TENANCY_BASE_DOMAIN: "example.com" };
    const wins = await makeService({
      toml: `${alone}[plugin.tenancy]\nsources = ["subdomain"]\nbase_domain = "https://x/"\n`,
      env: set,
    });
    await wins.service.stop();
    const wrong = await refusal({ toml: `${alone}[plugin.tenancy]\n${values}`, env });
    for (const key of ["sources", "path_prefix", "reserved_subdomains", "exempt_paths"]) {
      expect(wrong).to.contain(`plugin.tenancy.${key}`);
    }
  });

  it("TEN-9 warns at startup when tenants are granted without verified callers", async () => {
    const warnings = async (toml: string, more: object = {}): Promise<unknown[]> => {
      const { lines } = await makeService({ toml, env: { ...env, ...more } });
      return lines.filter(({ level }) => level === "warn").map(({ message }) => message);
    };
    const warning = "callers are not verified: any tenant that a request names is granted";
    expect(await warnings(alone)).to.contain(warning);
    expect(await warnings(both)).to.not.contain(warning);
    expect(await warnings(`${alone}[plugin.tenancy]\nsources = ["token"]\n`)).to.not.contain(warning);
  });

  it("TEN-22 warns at startup in prod when a header may name the tenant", async () => {
    const toml = `${alone}[plugin.tenancy]\nsources = ["header"]\n`;
    const { lines } = await makeService({ toml, env: { SVC_ENV: "prod" } });
    expect(lines.some(({ level, message }) => level === "warn" && /header/i.test(String(message)))).to.equal(
      true,
    );
    const local = await makeService({ toml });
    expect(local.lines.some(({ message }) => /header/i.test(String(message)))).to.equal(false);
  });
});
