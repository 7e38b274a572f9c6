import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { testRedis } from "@svc/dev-services";
import { requireScopes } from "@svc/jwt-auth";
import { createMemoryTokenStore } from "@svc/token-store";
import { expect } from "chai";
import type { Express } from "express";
import request from "supertest";
import type { Service } from "@svc/express";
import { makeService, startService, type TestService } from "./support/test-service.ts";

const secret = randomBytes(32).toString("base64");
const env = { SVC_AUTH_SECRET: secret };
const issuing = `[plugins]
enabled = ["observability", "metrics", "auth"]
[plugin.auth]
issuer = "https://shop.example.com"
audience = "shop"
issue_tokens = true
`;
const withSecret = `${issuing}mode = "secret"\nalgorithms = ["HS256"]\n`;

interface Pair {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly token_type: string;
  readonly expires_in: number;
}

/** Adds the routes of an application in which every caller may sign in. */
function routes(app: Express, { issuer }: Service): void {
  app.post("/login", async (_req, res) => {
    res.json(await issuer?.issuePair({ subject: "ann", scopes: ["orders:read"], tenant: "acme" }));
  });
  app.get("/orders", requireScopes("orders:read"), (_req, res) => res.json({ orders: [] }));
}

const asked = (url: string, token: string): request.Test =>
  request(url).get("/orders").set("Authorization", `Bearer ${token}`);

async function login({ url }: TestService): Promise<Pair> {
  return (await request(url).post("/login")).body as Pair;
}

const refresh = ({ url }: TestService, { refresh_token }: Pair): request.Test =>
  request(url).post("/auth/refresh").send({ refresh_token });

async function refusal(options: Parameters<typeof makeService>[0]): Promise<string> {
  try {
    await makeService(options);
  } catch (error) {
    return String(error);
  }
  return expect.fail("it started");
}

describe("the plugin `auth` in a service that issues tokens", function () {
  this.timeout(60_000);

  it("ISS-1 ISS-2 ISS-9 REF-1 REF-2 issues a token pair, serves /auth/me, and rotates the pair", async () => {
    await using test = await startService({ toml: withSecret, env, routes });
    const pair = await login(test);
    expect(pair).to.include({ token_type: "Bearer", expires_in: 900 });
    expect((await asked(test.url, pair.access_token)).status).to.equal(200);
    const me = await request(test.url).get("/auth/me").set("Authorization", `Bearer ${pair.access_token}`);
    expect(me.body).to.deep.include({
      subject: "ann",
      tenant_id: "acme",
      scopes: ["orders:read"],
      roles: [],
    });
    const next = await refresh(test, pair);
    expect([next.status, next.headers["cache-control"]]).to.deep.equal([200, "no-store"]);
    const { access_token } = next.body as Pair;
    expect((await asked(test.url, access_token)).status).to.equal(200);
    const raced = await refresh(test, pair);
    expect([raced.status, (raced.body as { detail: string }).detail]).to.deep.equal([
      401,
      "this refresh token has already been rotated",
    ]);
    expect((await asked(test.url, access_token)).status).to.equal(200);
    expect((await asked(test.url, pair.refresh_token)).status).to.equal(401);
  });

  it("ISS-5 RDY-23 ends a session at sign-out, and notes in /ready that other replicas do not see the sign-out", async () => {
    await using test = await startService({ toml: withSecret, env, routes });
    const pair = await login(test);
    const logout = await request(test.url)
      .post("/auth/logout")
      .set("Authorization", `Bearer ${pair.access_token}`);
    expect([logout.status, logout.text]).to.deep.equal([204, ""]);
    expect((await asked(test.url, pair.access_token)).status).to.equal(401);
    expect((await refresh(test, pair)).status).to.equal(401);
    const { status, text } = await request(test.url).get("/ready");
    expect(status).to.equal(200);
    expect(text).to.contain("does not survive a restart or reach other replicas");
  });

  it("REF-9 REF-10 lets the hook `onRefresh` reduce a session's scopes, or end the session", async () => {
    let isMember = true;
    const onRefresh = (): { scopes: string[] } | undefined => (isMember ? { scopes: [] } : undefined);
    await using test = await startService({ toml: withSecret, env, routes, auth: { onRefresh } });
    const changed = (await refresh(test, await login(test))).body as Pair;
    expect((await asked(test.url, changed.access_token)).status).to.equal(403);
    isMember = false;
    const declined = await refresh(test, changed);
    expect((declined.body as { detail: string }).detail).to.equal("this session is no longer valid");
    expect((await asked(test.url, changed.access_token)).status).to.equal(401);
  });

  it("ISS-15 signs and verifies with a key file from svc-keys, and publishes only the public key", async () => {
    const folder = await mkdtemp(join(tmpdir(), "svc-keys-"));
    try {
      const file = join(folder, "keys.json");
      const program = fileURLToPath(new URL("../../token-issuer/src/command-line.ts", import.meta.url));
      execFileSync(process.execPath, ["--conditions=@svc/source", program, "init", "--file", file]);
      const toml = `${issuing}signing_keys = ${JSON.stringify(file)}\n`;
      await using test = await startService({ toml, env: {}, routes });
      const pair = await login(test);
      expect((await asked(test.url, pair.access_token)).status).to.equal(200);
      const { status, body } = await request(test.url).get("/.well-known/jwks.json");
      expect(status).to.equal(200);
      const { keys } = body as { keys: object[] };
      expect(keys).to.have.length(1);
      expect(keys[0]).to.have.any.keys("n", "x").and.to.not.have.any.keys("d", "p", "q", "k");
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("REV-11 ISS-16 with a shared cache, rejects a session that another replica has ended", async () => {
    const toml = withSecret.replace('"auth"', '"cache", "auth"') + '[plugin.cache]\nurl = "${REDIS_URL}"\n';
    const around = { ...env, REDIS_URL: redis.url };
    await using a = await startService({ toml, env: around, routes });
    await using b = await startService({ toml, env: around, routes });
    const pair = await login(a);
    expect((await asked(b.url, pair.access_token)).status).to.equal(200);
    await request(b.url).post("/auth/logout").set("Authorization", `Bearer ${pair.access_token}`);
    expect((await asked(a.url, pair.access_token)).status).to.equal(401);
    expect((await refresh(a, pair)).status).to.equal(401);
    const inProd = await makeService({ toml, env: { ...around, SVC_ENV: "prod" } });
    await inProd.service.stop();
  });
  const redis = testRedis();

  it("ISS-16 refuses to start without a shared store in prod, or without a signing key", async () => {
    const prod = { toml: withSecret, env: { ...env, SVC_ENV: "prod" } };
    expect(await refusal(prod)).to.contain("plugin.auth.issue_tokens: needs a store that all replicas share");
    const jwks = { ...env, SVC_AUTH_JWKS_URL: "https://x.example.com/jwks" };
    expect(await refusal({ toml: issuing, env: jwks })).to.contain("needs a key to sign with");
    expect(await refusal({ toml: withSecret, env: {} })).to.contain(
      "plugin.auth.secret (SVC_AUTH_SECRET): is required in mode secret",
    );
    const nowhere = `${issuing}signing_keys = "/nowhere/keys.json"\n`;
    expect(await refusal({ toml: nowhere, env: {} })).to.contain("/nowhere/keys.json");
    const hook = { auth: { onRefresh: () => undefined } };
    const verifying = withSecret.replace("issue_tokens = true\n", "");
    expect(await refusal({ toml: verifying, env, ...hook })).to.contain("auth.onRefresh: has no effect");
    const idle = verifying.replace('mode = "secret"', 'signing_keys = "/nowhere/keys.json"\nmode = "secret"');
    expect(await refusal({ toml: idle, env })).to.contain("plugin.auth.signing_keys: has no effect");
  });

  it("ISS-5 REV-11 writes sign-outs to a store passed in code, and does not stop that store", async () => {
    let stops = 0;
    const memory = createMemoryTokenStore();
    const revocation = { ...memory, shared: true, stop: () => void (stops += 1) };
    const options = { toml: withSecret, env: { ...env, SVC_ENV: "prod" }, routes, auth: { revocation } };
    {
      await using a = await startService(options);
      await using b = await startService(options);
      const pair = await login(a);
      expect((await asked(b.url, pair.access_token)).status).to.equal(200);
      const out = request(a.url).post("/auth/logout").set("Authorization", `Bearer ${pair.access_token}`);
      expect((await out).status).to.equal(204);
      expect((await asked(b.url, pair.access_token)).status).to.equal(401);
      expect((await asked(a.url, pair.access_token)).status).to.equal(401);
    }
    expect(stops).to.equal(0);
    memory.stop();
  });

  it("ISS-5 ISS-16 rejects a revocation check that cannot store sign-outs", async () => {
    const check = { auth: { revocation: { isRevoked: () => false } } };
    expect(await refusal({ toml: withSecret, env, ...check })).to.contain(
      "auth.revocation: must be a complete token store in a service that issues tokens",
    );
    const revocation = createMemoryTokenStore();
    const prod = { toml: withSecret, env: { ...env, SVC_ENV: "prod" }, auth: { revocation } };
    expect(await refusal(prod)).to.contain("must be shared by all replicas in prod");
    revocation.stop();
  });

  it("adds neither service.issuer nor its routes when `issue_tokens` is off", async () => {
    const toml = withSecret.replace("issue_tokens = true\n", "");
    await using test = await startService({ toml, env, routes });
    expect(test.service.issuer).to.equal(undefined);
    for (const path of ["/auth/me", "/.well-known/jwks.json"]) {
      expect((await request(test.url).get(path)).status).to.equal(404);
    }
  });
});
