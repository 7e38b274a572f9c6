import type { LoginIdentity } from "@svc/oidc-login";
import { expect } from "chai";
import { browser, start } from "@svc/test-support/openid";
import { CLIENT, type HostileProvider, hostileProvider } from "./support/hostile-provider.ts";
import { type Given, serve, type Service } from "./support/service.ts";

const TID = "72f988bf-86f1-41af-91ab-2d7cd011db47";
const OTHER = "11111111-2222-4333-8444-555555555555";
const OID = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";

describe("the built-in providers", () => {
  let provider: HostileProvider;
  beforeEach(async () => {
    provider = await hostileProvider();
  });
  afterEach(() => provider[Symbol.asyncDispose]());

  const client = { clientId: CLIENT, clientSecret: "secret-of-the-client" };
  const places = () => {
    const { jwksUri, authorizationEndpoint, tokenEndpoint } = provider.options;
    return { ...client, jwksUri, authorizationEndpoint, tokenEndpoint };
  };

  async function signIn(
    service: Service,
    name: string,
    prepare: (nonce: string) => void,
    more = "",
  ): Promise<Response> {
    const ours = browser();
    const { state, nonce } = await start(ours, `${service.url}/auth/${name}/start`);
    prepare(nonce);
    return ours.open(`${service.url}/auth/${name}/callback?code=c&state=${state}${more}`);
  }

  it("redirect to their own addresses with their scopes, state, nonce and PKCE (OIDC-3, OIDC-16)", async () => {
    const fetch = () => Promise.reject(new Error("no network in this test"));
    const providers = { google: client, microsoft: client, github: client };
    await using service = await serve({ providers, fetch });
    const found: Record<string, unknown> = {};
    for (const name of Object.keys(providers)) {
      const { location, nonce, state, challenge } = await start(
        browser(),
        `${service.url}/auth/${name}/start`,
      );
      expect([nonce, state, challenge].join(" ")).to.match(/^[\w-]{43} [\w-]{43} [\w-]{43}$/);
      found[name] = [location.origin + location.pathname, location.searchParams.get("scope")];
    }
    expect(found).to.eql({
      google: ["https://accounts.google.com/o/oauth2/v2/auth", "openid email profile"],
      microsoft: ["https://login.microsoftonline.com/common/oauth2/v2.0/authorize", "openid email profile"],
      github: ["https://github.com/login/oauth/authorize", "read:user user:email"],
    });
  });

  it("accept both forms of Google's issuer, and no other issuer (OIDC-16)", async () => {
    await using service = await serve({ providers: { google: places() } });
    const statuses = [];
    for (const iss of [
      "https://accounts.google.com",
      "accounts.google.com",
      "http://accounts.google.com",
      provider.url,
    ])
      statuses.push((await signIn(service, "google", (nonce) => provider.issue({ nonce, iss }))).status);
    expect(statuses).to.eql([200, 200, 401, 401]);
  });

  describe("microsoft", () => {
    const issuer = (tid: string): string => `https://login.microsoftonline.com/${tid}/v2.0`;
    const claims = { tid: TID, oid: OID, iss: issuer(TID), email: "a@b.example", email_verified: true };
    const microsoft = (more: object = {}): Given => ({ providers: { microsoft: { ...places(), ...more } } });

    it("identifies a person by directory and object id, with an unverified address (OIDC-16, OIDC-20, OIDC-21)", async () => {
      await using service = await serve(microsoft());
      const response = await signIn(service, "microsoft", (nonce) => provider.issue({ nonce, ...claims }));
      expect((await response.json()) as LoginIdentity).to.include({
        federated_id: `microsoft:${TID}:${OID}`,
        subject: `${TID}:${OID}`,
        email: "a@b.example",
        email_verified: false,
      });
    });

    it("marks an address as verified if xms_edov is true (OIDC-21)", async () => {
      await using service = await serve(microsoft());
      const found = [];
      for (const xms_edov of [true, 1, "1", "true", false, 0, "0", null]) {
        const response = await signIn(service, "microsoft", (nonce) =>
          provider.issue({ nonce, ...claims, xms_edov }),
        );
        found.push(((await response.json()) as LoginIdentity).email_verified);
      }
      expect(found).to.eql([true, true, true, true, false, false, false, false]);
    });

    const bad: Readonly<Record<string, [reason: string, claims: object]>> = {
      "no tid, and undefined instead of the tid in the issuer": [
        "issuer",
        { tid: undefined, iss: issuer("undefined") },
      ],
      "no tid": ["directory", { tid: undefined }],
      "the template's placeholder as tid": ["issuer", { tid: "{tenantid}", iss: issuer("{tenantid}") }],
      "a replacement pattern of replace() as tid": ["issuer", { tid: "$&", iss: issuer("{tenantid}") }],
      "a path as tid": ["issuer", { tid: "a/../b", iss: issuer("a/../b") }],
      "a tid in capitals": ["issuer", { tid: TID.toUpperCase(), iss: issuer(TID.toUpperCase()) }],
      "the tid of another directory": ["issuer", { tid: OTHER }],
      "the issuer of another directory": ["issuer", { iss: issuer(OTHER) }],
      "a tid that is a list": ["directory", { tid: [TID] }],
      "an issuer with a suffix": ["issuer", { iss: `${issuer(TID)}/` }],
      "an issuer of another host": ["issuer", { iss: `https://evil.example/${TID}/v2.0` }],
      "no oid": ["subject", { oid: undefined }],
      "a malformed oid": ["subject", { oid: `${OID}:x` }],
    };
    for (const [what, [reason, more]] of Object.entries(bad)) {
      it(`rejects an ID token with ${what} (OIDC-9, OIDC-16)`, async () => {
        await using service = await serve(microsoft());
        const response = await signIn(service, "microsoft", (nonce) =>
          provider.issue({ nonce, ...claims, ...more }),
        );
        expect([response.status, service.reason()]).to.eql([401, reason]);
      });
    }

    for (const [what, options] of Object.entries({
      directories: { directories: [OTHER.toUpperCase()] },
      directory: { directory: OTHER },
    })) {
      it(`accepts only people from the configured ${what} (OIDC-16)`, async () => {
        await using service = await serve(microsoft(options));
        const answers = [];
        for (const tid of [TID, OTHER]) {
          const changed = { ...claims, tid, iss: issuer(tid) };
          answers.push(
            (await signIn(service, "microsoft", (nonce) => provider.issue({ nonce, ...changed }))).status,
          );
        }
        expect(answers).to.eql([401, 200]);
      });
    }

    it("rejects a callback whose iss differs from the iss of the ID token (OIDC-13)", async () => {
      await using service = await serve(microsoft({ issRequired: true }));
      const found = [];
      for (const iss of [
        issuer(TID),
        issuer(OTHER),
        issuer("{tenantid}"),
        "https://evil.example",
        undefined,
      ]) {
        const more = iss === undefined ? "" : `&iss=${encodeURIComponent(iss)}`;
        const prepare = (nonce: string): void => provider.issue({ nonce, ...claims });
        found.push((await signIn(service, "microsoft", prepare, more)).status);
      }
      expect(found).to.eql([200, 401, 401, 401, 401]);
    });
  });

  describe("github", () => {
    const github = () => {
      const { authorizationEndpoint, tokenEndpoint } = provider.options;
      return { ...client, authorizationEndpoint, tokenEndpoint };
    };
    const token = (): void =>
      provider.answer(200, { access_token: "gho_1", token_type: "bearer", scope: "" });

    it("passes its access token to onAccessToken, and the identity to the handler (OIDC-18, OIDC-20)", async () => {
      const seen: unknown[] = [];
      await using service = await serve({
        providers: { github: github() },
        onAccessToken: (...given) => {
          seen.push(given);
          return { subject: "42", email: "a@b.example", email_verified: true, name: "Ada" };
        },
      });
      const response = await signIn(service, "github", token);
      expect(await response.json()).to.eql({
        federated_id: "github:42",
        subject: "42",
        provider: "github",
        email: "a@b.example",
        email_verified: true,
        name: "Ada",
        picture: null,
        claims: {},
        return_to: "/",
      });
      expect(seen).to.eql([["gho_1", "github"]]);
      expect(provider.exchanges[0]?.get("code_verifier")).to.match(/^[\w-]{43}$/);
    });

    it("refuses every sign-in without onAccessToken, with or without an ID token (OIDC-17)", async () => {
      await using service = await serve({ providers: { github: github() } });
      expect([(await signIn(service, "github", token)).status, service.reason()]).to.eql([
        401,
        "no_id_token",
      ]);
      const response = await signIn(service, "github", (nonce) => provider.issue({ nonce }));
      expect([response.status, service.reason()]).to.eql([401, "no_id_token"]);
      expect(provider.requests).not.to.include("/keys");
    });

    it("returns 401 for a rejected code, even if GitHub responds 200 (OIDC-12)", async () => {
      await using service = await serve({
        providers: { github: github() },
        onAccessToken: () => ({ subject: "1" }),
      });
      const response = await signIn(service, "github", () =>
        provider.answer(200, { error: "bad_verification_code", error_description: "The code has expired" }),
      );
      expect([response.status, service.reason()]).to.eql([401, "code_refused"]);
    });

    it("causes a 500 when onAccessToken returns no subject", async () => {
      for (const profile of [{ subject: 42 }, { subject: "" }, null, undefined, {}]) {
        // JavaScript applications may return any value.
        const onAccessToken = (() => profile) as unknown as NonNullable<Given["onAccessToken"]>;
        await using service = await serve({ providers: { github: github() }, onAccessToken });
        expect((await signIn(service, "github", token)).status).to.equal(500);
      }
    });

    it("reports in the readiness check that it needs no keys", async () => {
      await using service = await serve({ providers: { github: github() } });
      const found = await service.login.readiness().check(new AbortController().signal);
      expect(found).to.eql({ healthy: true, critical: false, detail: "github: needs no keys" });
    });
  });

  it("receive the client secret in a header if clientAuthentication is client_secret_basic (OIDC-15)", async () => {
    const acme = { ...provider.options, clientAuthentication: "client_secret_basic" as const };
    await using service = await serve({ providers: { acme } });
    let header: string | undefined;
    await signIn(service, "acme", () =>
      provider.answerBy((req, res) => {
        header = req.headers.authorization;
        res.end();
      }),
    );
    expect(header).to.match(/^Basic /);
    expect(provider.exchanges[0]?.has("client_secret")).to.equal(false);
  });
});
