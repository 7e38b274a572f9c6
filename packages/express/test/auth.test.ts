import { generateKeyPairSync, randomBytes } from "node:crypto";
import { signToken } from "@svc/test-support";
import { currentPrincipal, optionalAuth, principalOf, requireRoles, requireScopes } from "@svc/jwt-auth";
import { expect } from "chai";
import type { Express } from "express";
import request from "supertest";
import { createKeySetServer } from "./support/key-set-server.ts";
import { makeService, startService } from "./support/test-service.ts";

const secret = randomBytes(32).toString("base64");
const env = { SVC_AUTH_SECRET: secret };
const plugins = '[plugins]\nenabled = ["observability", "metrics", "auth"]\n';
const inSecretMode = `${plugins}[plugin.auth]\nmode = "secret"\nalgorithms = ["HS256"]\n`;

function routes(app: Express): void {
  app.get("/open", optionalAuth(), (req, res) => res.json({ caller: principalOf(req)?.subject ?? null }));
  app.get("/scoped", requireScopes("a", "b"), (_req, res) =>
    res.json({ caller: currentPrincipal().subject }),
  );
  app.get("/role", requireRoles("admin", "owner"), (_req, res) => res.json({}));
}

const bearer = (claims: Readonly<Record<string, unknown>> = {}): string =>
  `Bearer ${signToken(claims, secret)}`;

async function refusal(options: Parameters<typeof makeService>[0]): Promise<string> {
  try {
    await makeService(options);
  } catch (error) {
    return String(error);
  }
  return expect.fail("it started");
}

describe("the plugin `auth`", () => {
  it("VER-4 AUTH-2 AUTH-12 AUTH-13 AUTH-38 verifies tokens with the secret from the environment", async () => {
    await using test = await startService({ toml: inSecretMode, env, routes });
    const get = (path: string, token?: string): request.Test =>
      token === undefined
        ? request(test.url).get(path)
        : request(test.url).get(path).set("Authorization", token);

    expect((await get("/open")).body).to.deep.equal({ caller: null });
    expect((await get("/open", bearer({ sub: "ann" }))).body).to.deep.equal({ caller: "ann" });
    expect((await get("/open", "Bearer nonsense")).body).to.deep.equal({ caller: null });
    expect((await get("/scoped", bearer({ scope: "b a", sub: "ann" }))).body).to.deep.equal({
      caller: "ann",
    });
    const missing = await get("/scoped", bearer({ scope: ["b"] }));
    expect([missing.status, missing.body]).to.deep.include(403);
    expect(missing.body).to.deep.include({ detail: "missing scope(s): a", missing_scopes: ["a"] });
    const role = await get("/role", bearer({ roles: ["reader"] }));
    expect([role.status, (role.body as { detail: string }).detail]).to.deep.equal([
      403,
      "requires one of: admin, owner",
    ]);
    const nobody = await get("/scoped");
    expect([nobody.status, nobody.headers["www-authenticate"]]).to.deep.equal([401, "Bearer"]);
    expect((await get("/ready")).body).to.have.nested.property("checks.auth.healthy", true);
    expect(JSON.stringify(test.lines)).to.not.contain(secret);
  });

  it("AUTH-11 logs the reason for a refusal with the request id, and no part of the token", async () => {
    await using test = await startService({ toml: inSecretMode, env, routes });
    const token = signToken({ exp: 1000 }, secret);
    await request(test.url).get("/scoped").set("Authorization", `Bearer ${token}`).set("X-Request-ID", "r-7");
    const line = await test.line((each) => each["reason"] === "expired");
    expect(line).to.include({ request_id: "r-7" });
    expect(JSON.stringify(test.lines)).to.not.contain(token.split(".")[1]);
  });

  it("AUTH-2 CFG-4 is in mode jwks by default, and prefers the key-set URL and issuer in the environment to those in the file", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    await using keys = await createKeySetServer([{ ...publicKey.export({ format: "jwk" }), kid: "k1" }]);
    const toml = `${plugins}[plugin.auth]\njwks_url = "http://127.0.0.1:1/nowhere"\nissuer = "file"\n`;
    const around = { SVC_AUTH_JWKS_URL: keys.url, SVC_AUTH_ISSUER: "env" };
    await using test = await startService({ toml, env: around, routes });
    const token = signToken({ sub: "ann", iss: "env", scope: "a b" }, privateKey, { kid: "k1" });
    const answer = await request(test.url).get("/scoped").set("Authorization", `Bearer ${token}`);
    expect([answer.status, answer.body]).to.deep.equal([200, { caller: "ann" }]);
    const foreign = signToken({ sub: "ann", iss: "file", scope: "a b" }, privateKey, { kid: "k1" });
    expect(
      (await request(test.url).get("/scoped").set("Authorization", `Bearer ${foreign}`)).status,
    ).to.equal(401);
  });

  it("CFG-4 prefers the mode and algorithms in the file to those in the environment", async () => {
    const around = { ...env, SVC_AUTH_MODE: "jwks", SVC_AUTH_ALGORITHMS: "RS256,RS512" };
    const { service } = await makeService({ toml: inSecretMode, env: around });
    expect(service.config.plugin.auth).to.deep.include({ mode: "secret", algorithms: ["HS256"] });
    expect(service.config.notes.join()).to.contain("SVC_AUTH_MODE").and.to.contain("SVC_AUTH_ALGORITHMS");
  });

  it("AUTH-5 AUTH-32 AUTH-31 KEY-14 refuses to start with an invalid secret, algorithm list or key-set URL, and names setting and variable", async () => {
    const mixed = `${plugins}[plugin.auth]\nmode = "secret"\nalgorithms = ["HS256", "RS256"]\n`;
    expect(await refusal({ toml: mixed, env }))
      .to.contain("plugin.auth.algorithms (SVC_AUTH_ALGORITHMS)")
      .and.to.contain("HS256")
      .and.to.contain("RS256");
    expect(await refusal({ toml: inSecretMode })).to.contain("plugin.auth.secret (SVC_AUTH_SECRET)");
    const pem = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----";
    const asSecret = await refusal({ toml: inSecretMode, env: { SVC_AUTH_SECRET: pem } });
    expect(asSecret)
      .to.contain("plugin.auth.secret (SVC_AUTH_SECRET)")
      .and.to.not.contain("MCowBQYDK2VwAyEA");
    const short = { SVC_AUTH_SECRET: "short", SVC_ENV: "prod" };
    expect(await refusal({ toml: inSecretMode, env: short }))
      .to.contain("has 5 bytes; in prod it needs at least 32")
      .and.to.not.contain('"short"');
    const plain = { SVC_AUTH_JWKS_URL: "http://keys.example.com/jwks", SVC_ENV: "prod" };
    expect(await refusal({ toml: plugins, env: plain })).to.contain(
      "plugin.auth.jwks_url (SVC_AUTH_JWKS_URL)",
    );
  });

  it("AUTH-7 warns at startup when no audience is configured", async () => {
    const { lines } = await makeService({ toml: inSecretMode, env });
    expect(
      lines.filter(({ level, message }) => level === "warn" && /audience/.test(String(message))),
    ).to.have.length(1);
    const quiet = await makeService({ toml: `${inSecretMode}audience = "us"\n`, env });
    expect(quiet.lines.filter(({ message }) => /audience/.test(String(message)))).to.have.length(0);
  });

  it("AUTH-1 is off by default: guards refuse requests, and the log notes that a variable is not used", async () => {
    await using test = await startService({ env, routes });
    const answer = await request(test.url)
      .get("/scoped")
      .set("Authorization", bearer({ scope: "a b" }));
    expect(answer.status).to.equal(401);
    expect(test.service.auth).to.equal(undefined);
    expect(JSON.stringify(test.lines)).to.contain("SVC_AUTH_SECRET is not used");
  });

  it("REV-3 calls a revocation check set in code on every request, and reports its outage in /ready", async () => {
    const revoked = new Set<string>();
    let isOut = false;
    const revocation = {
      isRevoked({ jti }: { readonly jti?: string | undefined }): boolean {
        if (isOut) throw new Error("out");
        return jti !== undefined && revoked.has(jti);
      },
    };
    const toml = `${inSecretMode}revocation_fail_open = false\n`;
    await using test = await startService({ toml, env, routes, auth: { revocation } });
    const token = bearer({ jti: "t-1", scope: "a b" });
    const get = (path: string): request.Test => request(test.url).get(path).set("Authorization", token);
    expect((await get("/scoped")).status).to.equal(200);
    revoked.add("t-1");
    expect((await get("/scoped")).status).to.equal(401);
    isOut = true;
    const out = await get("/open");
    expect([out.status, (out.body as { detail: string }).detail]).to.deep.equal([
      503,
      "the revocation store is not answering; retry shortly",
    ]);
    expect((await request(test.url).get("/ready")).body).to.have.nested.property(
      "checks.auth.healthy",
      false,
    );
    expect(await refusal({ env, auth: { revocation } })).to.contain(
      "auth: has no effect without the plugin auth",
    );
  });

  it("SYS-5 appears in /info without secrets", async () => {
    await using test = await startService({ toml: inSecretMode, env });
    const { body } = await request(test.url).get("/info");
    expect((body as { plugins: object[] }).plugins).to.deep.include({
      name: "auth",
      mode: "secret",
      algorithms: ["HS256"],
    });
  });
});
