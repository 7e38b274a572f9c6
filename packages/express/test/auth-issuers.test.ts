import { generateKeyPairSync } from "node:crypto";
import { principalOf, requireAuth } from "@svc/jwt-auth";
import { listen, signToken } from "@svc/test-support";
import { expect } from "chai";
import type { Express } from "express";
import request from "supertest";
import { faultsOf } from "./support/refusal.ts";
import { startService } from "./support/test-service.ts";

const plugins = '[plugins]\nenabled = ["observability", "metrics", "auth"]\n';
const tables = (auth: string, ...issuers: string[]): string =>
  [plugins, "[plugin.auth]", auth, ...issuers].join("\n");
const staff = '[plugin.auth.issuers.staff]\nissuer = "https://staff.example"\ndiscovery = true';
const shop =
  '[plugin.auth.issuers.shop]\nissuer = "https://shop.example"\njwks_url = "https://shop.example/keys"';

function routes(app: Express): void {
  app.get("/me", requireAuth(), (req, res) => {
    const { subject, issuer } = principalOf(req);
    res.json({ subject, issuer });
  });
}

/** Starts an OpenID provider that signs tokens with its own key; the keys of all providers have the same id. */
async function provider() {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const keys = [{ ...publicKey.export({ format: "jwk" }), kid: "1" }];
  const server = await listen((req, res) => {
    const issuer = `http://${req.headers.host}`;
    const isDiscovery = req.url === "/.well-known/openid-configuration";
    res.end(JSON.stringify(isDiscovery ? { issuer, jwks_uri: `${issuer}/keys` } : { keys }));
  });
  return {
    issuer: server.url,
    tokenFor: (claims: object) => `Bearer ${signToken({ sub: "ann", ...claims }, privateKey, { kid: "1" })}`,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function faultTexts(toml: string, options: object = {}): Promise<readonly string[]> {
  return (await faultsOf({ toml, ...options })).map(({ key, message }) => `${key}: ${message}`);
}

describe("[plugin.auth.issuers]", () => {
  it("AUTH-6 AUTH-38 accepts tokens only for their issuer's audience, and checks revocation per issuer", async () => {
    await using a = await provider();
    await using b = await provider();
    const revoked = { isRevoked: ({ jti }: { jti: string | undefined }) => jti === "revoked" };
    const toml = tables(
      'audience = "orders"',
      `[plugin.auth.issuers.a]\nissuer = "${a.issuer}"\ndiscovery = true\nrevocation = true`,
      `[plugin.auth.issuers.b]\nissuer = "${b.issuer}"\njwks_url = "${b.issuer}/keys"\naudience = ["shop"]`,
    );
    await using test = await startService({ toml, routes, auth: { revocation: revoked } });
    const answer = async (token: string): Promise<unknown> => {
      const { status, body } = await request(test.url).get("/me").set("Authorization", token);
      return status === 200 ? (body as { issuer?: unknown }).issuer : status;
    };
    expect(await answer(a.tokenFor({ iss: a.issuer, aud: "orders" }))).to.equal(a.issuer);
    expect(await answer(b.tokenFor({ iss: b.issuer, aud: "shop" }))).to.equal(b.issuer);
    expect(await answer(b.tokenFor({ iss: b.issuer, aud: "orders" }))).to.equal(401);
    expect(await answer(a.tokenFor({ iss: b.issuer, aud: "shop" }))).to.equal(401);
    // Only issuer a has `revocation = true`, so its store does not apply to tokens of issuer b.
    expect(await answer(a.tokenFor({ iss: a.issuer, aud: "orders", jti: "revoked" }))).to.equal(401);
    expect(await answer(b.tokenFor({ iss: b.issuer, aud: "shop", jti: "revoked" }))).to.equal(b.issuer);
    const { checks } = (await request(test.url).get("/ready")).body as {
      checks: { auth: { detail: string } };
    };
    expect(checks.auth.detail).to.match(/^http:.*: 1 key\(s\), cached \d+s ago; http:.*: 1 key\(s\), cached/);
  });

  it("warns if the service has a store of revoked tokens but no issuer uses it", async () => {
    await using a = await provider();
    const toml = tables(
      'audience = "x"',
      `[plugin.auth.issuers.a]\nissuer = "${a.issuer}"\ndiscovery = true`,
    );
    const store = { isRevoked: () => false };
    await using test = await startService({ toml, auth: { revocation: store } });
    const text = "tokens are not checked for revocation: set revocation = true for the issuer";
    expect(await test.line((each) => JSON.stringify(each).includes(text))).to.be.an("object");
  });

  it("AUTH-38 refuses to start with invalid or conflicting settings, and names each of them", async () => {
    const https = "https://x.example";
    for (const [toml, expected] of [
      [
        tables(`issuer = "${https}"`, staff),
        /^plugin\.auth\.issuer \(SVC_AUTH_ISSUER\): cannot be combined with plugin/,
      ],
      [
        tables(`jwks_url = "${https}"`, staff),
        /^plugin\.auth\.jwks_url \(SVC_AUTH_JWKS_URL\): cannot be combined/,
      ],
      [tables('mode = "secret"', staff), /^plugin\.auth\.issuers: needs mode jwks, .*; mode is secret$/],
      [
        tables("", staff, "revocation = true"),
        /^plugin\.auth\.issuers\.staff\.revocation: needs a store of revoked tokens/,
      ],
      [
        tables("", '[plugin.auth.issuers.x]\nissuer = "x"'),
        /^plugin\.auth\.issuers\.x\.jwks_url: is missing: set it, or discovery = true$/,
      ],
      [
        tables("", staff, `jwks_url = "${https}"`),
        /^plugin\.auth\.issuers\.staff\.jwks_url, .*: cannot be combined/,
      ],
      [tables("", staff, 'algorithms = ["HS256"]'), /^plugin\.auth\.issuers\.staff\.algorithms: has HS256/],
      [
        tables("", staff, 'audiense = "x"'),
        /^plugin\.auth\.issuers\.staff\.audiense: is unknown; did you mean/,
      ],
      [
        tables("", staff, shop.replace('shop.example"', 'staff.example"')),
        /^plugin\.auth\.issuers\.shop\.issuer: is also the value of plugin\.auth\.issuers\.staff\.issuer; list/,
      ],
    ] as const) {
      const faults = await faultTexts(toml);
      expect(faults, faults.join("\n")).to.have.length(1);
      expect(faults[0]).to.match(expected);
    }
    const [keys] = await faultTexts(tables("", staff), { auth: { keys: () => undefined } });
    expect(keys).to.match(/keys: cannot be combined with plugin\.auth\.issuers, whose keys are fetched$/);
    const store = { auth: { revocation: { isRevoked: () => false } } };
    const [twice] = await faultTexts(
      tables("", staff, "revocation = true", shop, "revocation = true"),
      store,
    );
    expect(twice).to.match(
      /^plugin\.auth\.issuers\.shop\.revocation: is also set by plugin\.auth\.issuers\.staff/,
    );
  });
});
