import { createHmac, type KeyObject } from "node:crypto";
import { runSample, type SampleOptions } from "@svc/test-support";
import { expect } from "chai";
import { base64url, forge } from "./support/forge.ts";
import { keyFixture, pemOf } from "./support/key-fixtures.ts";
import { listen } from "@svc/test-support";

const readme = new URL("../README.md", import.meta.url);
const SECRET = "a secret of at least 32 bytes, not in code";

/** Makes a currently valid token, signed with the secret of the samples. */
function token(claims: object = {}): string {
  const at = Math.floor(Date.now() / 1000);
  const payload = { sub: "ada", aud: "orders", iat: at, exp: at + 900, ...claims };
  const signed = `${base64url('{"alg":"HS256"}')}.${base64url(JSON.stringify(payload))}`;
  return `${signed}.${createHmac("sha256", SECRET).update(signed).digest("base64url")}`;
}

function bearer(each: string): RequestInit {
  return { headers: { Authorization: `Bearer ${each}` } };
}

describe("the README of @svc/jwt-auth", () => {
  it("has a sample that verifies tokens with a key set and guards a route (AUTH-1, AUTH-13, AUTH-15)", async () => {
    const { privateKey, publicKey } = keyFixture("rsa2048");
    const keys = [{ ...publicKey.export({ format: "jwk" }), kid: "k", alg: "RS256", use: "sig" }];
    await using issuer = await listen((_req, res) => res.end(JSON.stringify({ keys })));
    const url = 'jwksUrl: "https://issuer.example/jwks.json"';
    const replace = { [url]: `jwksUrl: "${issuer.url}", env: "local"` };
    await using sample = await runSample(readme, 0, { replace });
    const at = Math.floor(Date.now() / 1000);
    const good = {
      iss: "https://issuer.example",
      aud: "orders",
      iat: at,
      exp: at + 900,
      scope: "orders:read",
    };
    const statuses = [];
    for (const claims of [good, { ...good, scope: "other" }, { ...good, aud: "other" }]) {
      const each = forge({ key: privateKey, header: { kid: "k" }, claims });
      const answer = await fetch(`${await sample.url}/orders`, bearer(each));
      statuses.push(answer.status);
      if (answer.ok) expect(await answer.json()).to.eql({ caller: "ada" });
    }
    expect(statuses).to.eql([200, 403, 401]);
  });

  it("has a sample with a bare server that refuses a revoked session (CLAIM-3, REV-1)", async () => {
    await using sample = await runSample(readme, 1);
    const url = await sample.url;
    const said = async (fam: string) => (await fetch(url, bearer(token({ fam })))).text();
    expect([await said("session-7"), await said("session-8")]).to.eql(["nobody", "ada"]);
  });

  it("has a sample that accepts a cookie from a page of the same origin, and refuses it from another origin (AUTH-33, AUTH-34)", async () => {
    await using sample = await runSample(readme, 2);
    const url = `${await sample.url}/orders`;
    const Cookie = `__Host-session=${token()}`;
    expect(await (await fetch(url, { headers: { Cookie } })).json()).to.eql({ caller: "ada" });
    const post = async (site: string) => {
      const headers = { Cookie, "Sec-Fetch-Site": site };
      return (await fetch(url, { method: "POST", headers })).status;
    };
    expect([await post("same-origin"), await post("cross-site")]).to.eql([200, 403]);
  });

  it("has a sample for each form of a key, which accepts tokens of that key only (AUTH-2)", async () => {
    const pem = pemOf("rsa2048");
    const jwk = keyFixture("p256").publicKey.export({ format: "jwk" });
    const published = {
      x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
      y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    };
    const inCode = { [published.x]: jwk.x ?? "", [published.y]: jwk.y ?? "" };
    const set = JSON.stringify({ keys: [{ ...jwk, kid: "2026", alg: "ES256" }] });
    const at = Math.floor(Date.now() / 1000);
    const claims = { aud: "orders", iat: at, exp: at + 900 };
    const iss = "https://issuer.example";
    const rs256 = (key?: KeyObject) => forge({ header: { kid: "2026" }, key, claims: { ...claims, iss } });
    const es256 = (key?: KeyObject) => forge({ algorithm: "ES256", header: { kid: "2026" }, key, claims });
    const otherRsa = rs256(keyFixture("otherRsa2048").privateKey);
    const otherEc = es256(keyFixture("otherP256").privateKey);
    const samples: readonly (readonly [string, string, string, SampleOptions])[] = [
      ["PEM", rs256(), otherRsa, { files: { "issuer.pem": pem } }],
      ["KeyObject", token(), rs256(), {}],
      ["CryptoKey", es256(), otherEc, { files: { "issuer.json": JSON.stringify(jwk) } }],
      ["JWK", es256(), otherEc, { replace: inCode }],
      ["JWK set", es256(), otherEc, { files: { "keys.json": set } }],
      ["function", rs256(), otherRsa, { files: { "2026.pem": pem } }],
    ];
    for (const [index, [form, good, bad, options]] of samples.entries()) {
      for (const [given, expected] of [
        [good, "ada"],
        [bad, "refused"],
      ] as const) {
        const replace = { ...options.replace, "process.argv[2]": JSON.stringify(given) };
        await using sample = await runSample(readme, 5 + index, { ...options, replace });
        const { stdout, stderr } = await sample.ended;
        expect([form, stdout.trim(), stderr]).to.eql([form, expected, ""]);
      }
    }
  });

  it("has a sample with two issuers, which accepts the tokens of each with its own key only (AUTH-6)", async () => {
    const files = { "staff.pem": pemOf("rsa2048"), "shop.pem": pemOf("otherRsa2048") };
    const at = Math.floor(Date.now() / 1000);
    const staff = { iss: "https://staff.example", aud: "orders", iat: at, exp: at + 900 };
    const shop = { ...staff, iss: "https://shop.example", aud: "shop-api" };
    const key = keyFixture("otherRsa2048").privateKey;
    for (const [given, expected] of [
      [forge({ claims: staff }), "ada of https://staff.example"],
      [forge({ claims: shop, key }), "ada of https://shop.example"],
      [forge({ claims: staff, key }), "refused"],
    ] as const) {
      const replace = { "process.argv[2]": JSON.stringify(given) };
      await using sample = await runSample(readme, 11, { files, replace });
      expect((await sample.ended).stdout.trim()).to.equal(expected);
    }
  });

  it("has a sample with two discovered issuers, of which only one may have administrators (AUTH-6, AUTH-16)", async () => {
    const started = async (name: "rsa2048" | "otherRsa2048") => {
      const keys = [{ ...keyFixture(name).publicKey.export({ format: "jwk" }), kid: "k" }];
      const server = await listen((req, res) => {
        const issuer = `http://${req.headers.host}`;
        const discovery = req.url === "/.well-known/openid-configuration";
        res.end(JSON.stringify(discovery ? { issuer, jwks_uri: `${issuer}/keys` } : { keys }));
      });
      return server;
    };
    await using staff = await started("rsa2048");
    await using shop = await started("otherRsa2048");
    const replace = {
      "https://staff.example": staff.url,
      "https://shop.example": shop.url,
      "    issuers: [": '    env: "local",\n    issuers: [',
    };
    await using sample = await runSample(readme, 12, { replace });
    const at = Math.floor(Date.now() / 1000);
    const claims = { aud: "orders", iat: at, exp: at + 900, roles: ["admin"] };
    const header = { kid: "k" };
    const key = keyFixture("otherRsa2048").privateKey;
    const answers = [];
    for (const each of [
      forge({ header, claims: { ...claims, iss: staff.url } }),
      forge({ header, claims: { ...claims, iss: staff.url, roles: [] } }),
      forge({ header, claims: { ...claims, iss: shop.url }, key }),
      forge({ header, claims: { ...claims, iss: staff.url }, key }),
    ])
      answers.push((await fetch(`${await sample.url}/admin`, bearer(each))).status);
    expect(answers).to.eql([200, 403, 403, 401]);
  });

  it("has a sample with an instance for each prefix, whose issuers fail independently (AUTH-6, RDY-14)", async () => {
    let isDown = false;
    const started = (name: "rsa2048" | "otherRsa2048") =>
      listen((_req, res) => {
        const keys = [{ ...keyFixture(name).publicKey.export({ format: "jwk" }), kid: "k" }];
        res.writeHead(isDown && name === "otherRsa2048" ? 404 : 200).end(JSON.stringify({ keys }));
      });
    await using staff = await started("rsa2048");
    await using partner = await started("otherRsa2048");
    const replace = {
      '"https://staff.example/keys"': `"${staff.url}", env: "local"`,
      '"https://shop.example/keys"': `"${partner.url}", env: "local"`,
    };
    const at = Math.floor(Date.now() / 1000);
    const claims = { aud: "orders", iat: at, exp: at + 900 };
    const header = { kid: "k" };
    const ofStaff = forge({ header, claims: { ...claims, iss: "https://staff.example" } });
    const key = keyFixture("otherRsa2048").privateKey;
    const ofPartner = forge({ header, claims: { ...claims, iss: "https://shop.example" }, key });
    const statusesAt = async (url: string) => {
      const answers = [];
      for (const path of ["/staff/orders", "/partner/orders"])
        for (const each of [ofStaff, ofPartner])
          answers.push((await fetch(`${url}${path}`, bearer(each))).status);
      return answers;
    };
    await using sample = await runSample(readme, 13, { replace });
    expect(await statusesAt(await sample.url)).to.eql([200, 401, 401, 200]);
    isDown = true;
    await using degraded = await runSample(readme, 13, { replace });
    expect(await statusesAt(await degraded.url)).to.eql([200, 401, 401, 401]);
    const ready = await fetch(`${await degraded.url}/ready`);
    const { status, checks } = (await ready.json()) as { status: string; checks: Record<string, object> };
    expect([ready.status, status, Object.keys(checks)]).to.eql([200, "degraded", ["auth", "auth_partner"]]);
    // Without the two lines of the sample that set `critical: false`, the whole service is not ready.
    const lines = {
      "critical: false, // with": "// with",
      "check: async (signal) => ({ ...(await partnerKeys.check(signal)), critical: false }),": "",
    };
    await using unavailable = await runSample(readme, 13, { replace: { ...replace, ...lines } });
    await statusesAt(await unavailable.url);
    expect((await fetch(`${await unavailable.url}/ready`)).status).to.equal(503);
  });

  it("has a sample that verifies a token without HTTP", async () => {
    for (const [argument, expected] of [
      ['"not a token"', "refused: malformed"],
      [JSON.stringify(token()), "ada"],
    ] as const) {
      await using sample = await runSample(readme, 3, {
        replace: { 'process.argv[2] ?? "not a token"': argument },
      });
      const { stdout } = await sample.ended;
      expect(stdout.trim()).to.equal(expected);
    }
  });
});
