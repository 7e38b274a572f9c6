import { generateKeyPairSync, randomBytes } from "node:crypto";
import { principalOf, requireScopes } from "@svc/jwt-auth";
import { tenantOf } from "@svc/tenancy";
import { signToken, type SigningKey } from "@svc/test-support";
import { expect } from "chai";
import type { Express } from "express";
import request from "supertest";
import { makeService, startService, type TestService } from "./support/test-service.ts";

const secret = randomBytes(32).toString("base64");
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
const pem = rsa.publicKey.export({ type: "spki", format: "pem" });

function routes(app: Express): void {
  app.get("/open", (req, res) => res.json({ caller: principalOf(req)?.subject, tenant: tenantOf(req) }));
  app.get("/scoped", requireScopes("a"), (_req, res) => res.json({}));
}

type Environment = Readonly<Record<string, string>>;

const base = (env: Environment): Parameters<typeof makeService>[0] => ({
  profile: "reduced",
  config: undefined,
  env: { SVC_APP_NAME: "small", SVC_PORT: "0", ...env },
  routes,
});

async function ask(test: TestService, path: string, key: SigningKey, claims = {}): Promise<request.Response> {
  return request(test.url)
    .get(path)
    .set("Authorization", `Bearer ${signToken({ scope: "a", ...claims }, key)}`);
}

async function refusal(env: Environment, more = {}): Promise<string> {
  try {
    await makeService({ ...base(env), ...more });
  } catch (error) {
    return String(error);
  }
  return expect.fail("it started");
}

describe("the reduced profile", () => {
  it("AUTH-1 AUTH-35 does not verify callers unless a variable enables authentication", async () => {
    await using test = await startService(base({ SVC_AUTH_ISSUER: "x" }));
    expect((await ask(test, "/scoped", secret)).status).to.equal(401);
    expect(test.service.auth).to.equal(undefined);
  });

  it("AUTH-35 AUTH-36 PROF-2 enables authentication when exactly one key is set, which determines mode and algorithm", async () => {
    await using shared = await startService(base({ SVC_AUTH_SECRET: secret }));
    expect(shared.service.config.plugin.auth).to.deep.include({ mode: "secret", algorithms: ["HS256"] });
    expect((await ask(shared, "/scoped", secret)).status).to.equal(200);
    const escaped = String(pem).replaceAll("\n", "\\n");
    await using pinned = await startService(base({ SVC_AUTH_PUBLIC_KEY: escaped }));
    expect(pinned.service.config.plugin.auth).to.deep.include({ mode: "public_key", algorithms: ["RS256"] });
    expect((await ask(pinned, "/scoped", rsa.privateKey)).status).to.equal(200);
    expect((await ask(pinned, "/scoped", secret)).status).to.equal(401);
  });

  it("AUTH-35 AUTH-38 enables authentication with SVC_AUTH_MODE, which selects one of two keys", async () => {
    await using test = await startService(
      base({
        SVC_AUTH_MODE: "public_key",
        SVC_AUTH_SECRET: secret,
        SVC_AUTH_PUBLIC_KEY: String(ec.publicKey.export({ type: "spki", format: "pem" })),
        SVC_AUTH_ALGORITHMS: '["ES256"]',
        SVC_AUTH_ISSUER: "https://issuer.example.com",
        SVC_AUTH_AUDIENCE: "small",
        SVC_AUTH_LEEWAY: "5",
        SVC_AUTH_TENANT_CLAIM: "org",
        SVC_AUTH_SCOPE_CLAIM: "scp",
        SVC_AUTH_ROLES_CLAIM: "groups",
        SVC_TENANCY_SOURCES: "token",
      }),
    );
    const good = { iss: "https://issuer.example.com", aud: "small", org: "acme", scp: ["a"] };
    expect((await ask(test, "/scoped", ec.privateKey, good)).status).to.equal(200);
    expect((await ask(test, "/open", ec.privateKey, good)).body).to.deep.equal({
      caller: "somebody",
      tenant: "acme",
    });
    const now = Math.floor(Date.now() / 1000);
    for (const wrong of [{ iss: "x" }, { aud: "x" }, { exp: now - 6 }]) {
      expect((await ask(test, "/scoped", ec.privateKey, { ...good, ...wrong })).status).to.equal(401);
    }
    const other = { ...good, scp: [], scope: "a" };
    expect((await ask(test, "/scoped", ec.privateKey, other)).status).to.equal(403);
  });

  it("AUTH-35 AUTH-37 refuses to start with settings that it cannot enforce, and names the variable", async () => {
    expect(
      await refusal({ SVC_AUTH_MODE: "jwks", SVC_AUTH_JWKS_URL: "https://x.example.com/jwks" }),
    ).to.contain("SVC_AUTH_MODE: selects mode jwks");
    expect(await refusal({ SVC_AUTH_JWKS_URL: "https://x.example.com/jwks" })).to.contain(
      "SVC_AUTH_JWKS_URL: selects mode jwks",
    );
    expect(await refusal({ SVC_AUTH_SECRET: secret, SVC_AUTH_PUBLIC_KEY: String(pem) })).to.contain(
      "SVC_AUTH_MODE: is required when SVC_AUTH_SECRET and SVC_AUTH_PUBLIC_KEY are set",
    );
    expect(await refusal({ SVC_AUTH_SECRET: secret, SVC_AUTH_ALGORITHMS: "HS256,RS256" })).to.match(
      /SVC_AUTH_ALGORITHMS: .*HS256.*RS256/,
    );
    expect(await refusal({ SVC_AUTH_SECRET: "short", SVC_ENV: "prod" })).to.match(
      /SVC_AUTH_SECRET: .* at least 32/,
    );
    expect(await refusal({ SVC_AUTH_SECRET: String(pem) })).to.contain("SVC_AUTH_SECRET: ");
    expect(await refusal({ SVC_AUTH_MODE: "secret" })).to.contain("SVC_AUTH_SECRET");
    expect(await refusal({ SVC_AUTH_MODE: "sekret" })).to.contain("SVC_AUTH_MODE");
    expect(await refusal({ SVC_TENANCY_SOURCES: "subdomain" })).to.contain("SVC_TENANCY_BASE_DOMAIN");
  });

  it("PROF-3 does not check revocation, logs that at startup, and rejects a revocation store", async () => {
    const { lines } = await makeService(base({ SVC_AUTH_SECRET: secret }));
    expect(lines.filter(({ message }) => /revocation/.test(String(message)))).to.have.length(1);
    const auth = { revocation: { isRevoked: () => true } };
    expect(await refusal({ SVC_AUTH_SECRET: secret }, { auth })).to.contain(
      "auth.revocation: is available only in the full profile",
    );
  });

  it("TEN-11 TEN-23 enables tenancy when SVC_TENANCY_SOURCES is set", async () => {
    const all = {
      SVC_AUTH_SECRET: secret,
      SVC_TENANCY_SOURCES: "token, subdomain",
      SVC_TENANCY_BASE_DOMAIN: "example.com",
      SVC_TENANCY_REQUIRE_TENANT: "true",
      SVC_TENANCY_TRUST_UNSCOPED_PRINCIPALS: "true",
    };
    await using test = await startService(base(all));
    expect((await request(test.url).get("/open")).status).to.equal(403);
    expect((await request(test.url).get("/health")).status).to.equal(200);
    const named = await request(test.url)
      .get("/open")
      .set({ Host: "acme.example.com", Authorization: `Bearer ${signToken({}, secret)}` });
    expect(named.body).to.deep.equal({ caller: "somebody", tenant: "acme" });
    await using without = await startService(base({ SVC_AUTH_SECRET: secret }));
    expect((await ask(without, "/open", secret, { tenant_id: "acme" })).body).to.deep.equal({
      caller: "somebody",
    });
  });
});
