import { expect } from "chai";
import { browser, start } from "@svc/test-support/openid";
import {
  CLIENT,
  foreign,
  type HostileProvider,
  hostileProvider,
  own,
  sendJson,
} from "./support/hostile-provider.ts";
import { problemIn, serve, type Service } from "./support/service.ts";

const nowSeconds = (): number => Math.floor(Date.now() / 1000);

describe("a hostile provider", () => {
  let provider: HostileProvider;
  let service: Service;

  beforeEach(async () => {
    provider = await hostileProvider();
    // This time limit exceeds any pause of a busy machine.
    service = await served(15);
  });
  const served = (exchangeTimeoutSeconds: number): Promise<Service> =>
    serve({ providers: { acme: provider.options }, exchangeTimeoutSeconds });
  afterEach(async () => {
    await service[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
  });

  /** Signs in, after `prepare` has set up the provider's response from the nonce. Returns the callback's response. */
  async function signIn(prepare: (nonce: string) => void): Promise<Response> {
    const ours = browser();
    const { state, nonce } = await start(ours, `${service.url}/auth/acme/start`);
    prepare(nonce);
    const response = await ours.open(`${service.url}/auth/acme/callback?code=c&state=${state}`);
    expect(ours.cookies.size).to.equal(0);
    return response;
  }

  it("can sign a person in with a valid ID token (OIDC-9)", async () => {
    const response = await signIn((nonce) => provider.issue({ nonce }));
    expect(response.status).to.equal(200);
    expect(await response.json()).to.include({
      federated_id: "acme:ada",
      email: null,
      email_verified: false,
    });
    const [exchange] = provider.exchanges;
    expect(Object.fromEntries(exchange ?? [])).to.include({ grant_type: "authorization_code", code: "c" });
    expect(exchange?.get("client_secret")).to.equal("secret-of-the-client");
    expect(exchange?.get("redirect_uri")).to.equal(`${service.url}/auth/acme/callback`);
    expect(exchange?.get("code_verifier")).to.match(/^[\w.~-]{43,128}$/);
  });

  const badTokens: Readonly<Record<string, [reason: string, issue: (nonce: string) => void]>> = {
    "signed with a foreign key": [
      "id_token",
      (nonce) => provider.issue({ nonce }, { key: foreign.privateKey }),
    ],
    "signed with a key that is not published": [
      "id_token",
      (nonce) => provider.issue({ nonce }, { key: foreign.privateKey, header: { kid: "k2" } }),
    ],
    "with a broken signature": [
      "id_token",
      (nonce) => provider.issue({ nonce }, { forge: (token) => `${token.slice(0, -8)}AAAAAAAA` }),
    ],
    "without a signature": [
      "id_token",
      (nonce) =>
        provider.issue(
          { nonce },
          { header: { alg: "none" }, forge: (token) => token.slice(0, token.lastIndexOf(".") + 1) },
        ),
    ],
    "signed with the public key as a secret": [
      "id_token",
      (nonce) =>
        provider.issue(
          { nonce },
          { key: own.publicKey.export({ type: "spki", format: "pem" }).toString(), header: { alg: "HS256" } },
        ),
    ],
    "signed with the client secret": [
      "id_token",
      (nonce) => provider.issue({ nonce }, { key: "secret-of-the-client" }),
    ],
    "with an algorithm that is not allowed": [
      "id_token",
      (nonce) => provider.issue({ nonce }, { header: { alg: "RS512" } }),
    ],
    "of another issuer": ["issuer", (nonce) => provider.issue({ nonce, iss: "https://other.example" })],
    "without an issuer": ["issuer", (nonce) => provider.issue({ nonce, iss: undefined })],
    "with an issuer that is a list": ["id_token", (nonce) => provider.issue({ nonce, iss: [provider.url] })],
    "for another client": ["id_token", (nonce) => provider.issue({ nonce, aud: "client-2" })],
    "without an audience": ["id_token", (nonce) => provider.issue({ nonce, aud: undefined })],
    "for two clients, without azp": [
      "authorized_party",
      (nonce) => provider.issue({ nonce, aud: [CLIENT, "client-2"] }),
    ],
    "for two clients, with the other client as azp": [
      "authorized_party",
      (nonce) => provider.issue({ nonce, aud: [CLIENT, "client-2"], azp: "client-2" }),
    ],
    "with a foreign azp": ["authorized_party", (nonce) => provider.issue({ nonce, azp: "client-2" })],
    "with the nonce of another attempt": ["nonce", () => provider.issue({ nonce: "another" })],
    "without a nonce": ["nonce", () => provider.issue({})],
    "with a nonce that is a list": ["nonce", (nonce) => provider.issue({ nonce: [nonce] })],
    "that has expired": ["id_token", (nonce) => provider.issue({ nonce, exp: nowSeconds() - 31 })],
    "that never expires": ["id_token", (nonce) => provider.issue({ nonce, exp: undefined })],
    "issued in the future": ["id_token", (nonce) => provider.issue({ nonce, iat: nowSeconds() + 60 })],
    "without iat": ["id_token", (nonce) => provider.issue({ nonce, iat: undefined })],
    "that is not valid yet": ["id_token", (nonce) => provider.issue({ nonce, nbf: nowSeconds() + 60 })],
    "without a subject": ["id_token", (nonce) => provider.issue({ nonce, sub: undefined })],
    "with an empty subject": ["id_token", (nonce) => provider.issue({ nonce, sub: "" })],
    "with a subject that is a number": ["id_token", (nonce) => provider.issue({ nonce, sub: 7 })],
    "with a control character in the subject": [
      "id_token",
      (nonce) => provider.issue({ nonce, sub: "ada\u0000" }),
    ],
    "with a subject of 256 characters": [
      "subject",
      (nonce) => provider.issue({ nonce, sub: "a".repeat(256) }),
    ],
    "that is not a JWT": ["id_token", () => provider.answer(200, tokens({ id_token: "no token" }))],
    "that is empty": ["id_token", () => provider.answer(200, tokens({ id_token: "" }))],
    "that is a number": ["no_id_token", () => provider.answer(200, tokens({ id_token: 7 }))],
    "that is missing": ["no_id_token", () => provider.answer(200, tokens({}))],
    "in the field svc_id_token, which this package uses internally": [
      "no_id_token",
      () => provider.answer(200, tokens({ svc_id_token: "a.b.c" })),
    ],
  };

  for (const [what, [reason, issue]] of Object.entries(badTokens)) {
    it(`cannot sign a person in with an ID token ${what} (OIDC-9, OIDC-12)`, async () => {
      const response = await signIn(issue);
      expect([response.status, service.reason()]).to.eql([401, reason]);
      expect((await problemIn(response)).title).to.equal("Unauthorized");
    });
  }

  it("cannot avoid the signature check: the service fetches its keys even though the token arrives over TLS (OIDC-9)", async () => {
    await signIn((nonce) => provider.issue({ nonce }, { key: foreign.privateKey }));
    expect(provider.requests).to.include("/keys");
  });

  it("may issue a token for several clients if its azp is this service's client id (OIDC-9)", async () => {
    const aud = [CLIENT, "client-2"];
    const response = await signIn((nonce) => provider.issue({ nonce, aud, azp: CLIENT }));
    expect(response.status).to.equal(200);
  });

  it('marks an address as verified only if email_verified is true or "true" (OIDC-21)', async () => {
    const values = [true, "true", false, "false", 1, null, undefined, "yes", {}];
    const verified = [];
    for (const email_verified of values) {
      const response = await signIn((nonce) =>
        provider.issue({ nonce, email: "a@b.example", email_verified }),
      );
      verified.push(((await response.json()) as { email_verified: boolean }).email_verified);
    }
    expect(verified).to.eql([true, true, false, false, false, false, false, false, false]);
  });

  it("cannot supply an address, name or picture with an invalid type or form (OIDC-19)", async () => {
    const claims = {
      email: ["a@b.example"],
      email_verified: true,
      name: "a\nb",
      picture: "javascript:alert(1)",
    };
    const response = await signIn((nonce) => provider.issue({ nonce, ...claims }));
    expect(await response.json()).to.include({
      email: null,
      email_verified: false,
      name: null,
      picture: null,
    });
  });

  const badAnswers: Readonly<
    Record<string, [status: number, reason: string, prepare: () => void, timeoutSeconds?: number]>
  > = {
    "200 with an error body": [
      401,
      "code_refused",
      () => provider.answer(200, { error: "bad_verification_code" }),
    ],
    "400 with an error body": [401, "code_refused", () => provider.answer(400, { error: "invalid_grant" })],
    "401 for an invalid client": [
      401,
      "code_refused",
      () => provider.answer(401, { error: "invalid_client" }),
    ],
    "403 with an empty body": [401, "code_refused", () => provider.answer(403, undefined)],
    "a token type without an access token": [
      401,
      "exchange_answer",
      () => provider.answer(200, { token_type: "Bearer" }),
    ],
    "a token of an unknown type": [
      401,
      "exchange_answer",
      () => provider.answer(200, { access_token: "a", token_type: "mystery" }),
    ],
    "an empty object": [401, "exchange_answer", () => provider.answer(200, {})],
    "a list": [503, "provider_unreachable", () => provider.answer(200, [])],
    null: [503, "provider_unreachable", () => provider.answer(200, null)],
    "500 with an error body": [
      503,
      "provider_unreachable",
      () => provider.answer(500, { error: "server_error" }),
    ],
    "429": [503, "provider_unreachable", () => provider.answer(429, { error: "slow_down" })],
    "an HTML page": [
      503,
      "provider_unreachable",
      () => provider.answerBy((_req, res) => res.writeHead(200, { "content-type": "text/html" }).end("<h1>")),
    ],
    "bytes that are not UTF-8": [
      503,
      "provider_unreachable",
      () => provider.answerBy((_req, res) => res.end(Buffer.from([0x7b, 0xff, 0x7d]))),
    ],
    "a redirect": [
      503,
      "provider_unreachable",
      () => provider.answerBy((_req, res) => res.writeHead(307, { location: "/elsewhere" }).end()),
    ],
    "a closed connection": [
      503,
      "provider_unreachable",
      () => provider.answerBy((req) => req.socket.destroy()),
    ],
    "no response": [503, "provider_unreachable", () => provider.answerBy(() => undefined), 0.5],
    "an endless trickle of bytes": [
      503,
      "provider_unreachable",
      () =>
        provider.answerBy((_req, res) => {
          const drip = setInterval(() => res.write(" "), 50);
          res.on("close", () => clearInterval(drip));
        }),
      0.5,
    ],
    "10 MB": [
      503,
      "provider_unreachable",
      () =>
        provider.answerBy((_req, res) => {
          sendJson(res, 200, { access_token: "a".repeat(10_000_000), token_type: "Bearer" });
        }),
    ],
  };

  for (const [what, [status, reason, prepare, timeoutSeconds]] of Object.entries(badAnswers)) {
    it(`causes a ${status} problem with this token response: ${what} (OIDC-12)`, async () => {
      if (timeoutSeconds !== undefined) {
        await service[Symbol.asyncDispose]();
        service = await served(timeoutSeconds);
      }
      const response = await signIn(prepare);
      expect([response.status, service.reason()]).to.eql([status, reason]);
      expect(response.headers.get("content-type")).to.equal("application/problem+json");
      if (status === 503) expect(Number(response.headers.get("retry-after"))).to.be.at.least(1);
      expect(provider.requests).not.to.include("/elsewhere");
    });
  }

  it("causes a 503 when its keys cannot be fetched (OIDC-12)", async () => {
    provider.keysBy((req) => req.socket.destroy());
    const response = await signIn((nonce) => provider.issue({ nonce }));
    expect([response.status, service.reason()]).to.eql([503, "keys_unavailable"]);
    const check = service.login.readiness();
    const found = await check.check(new AbortController().signal);
    expect([check.name, check.critical, found.healthy, found.critical]).to.eql([
      "oidc-login",
      false,
      false,
      false,
    ]);
    expect(found.detail).to.match(/^acme: no keys fetched yet/);
  });

  it("receives no request before the first sign-in, and readiness reports the state of its keys (OIDC-9)", async () => {
    const check = service.login.readiness();
    const detail = async () => (await check.check(new AbortController().signal)).detail;
    expect([await detail(), provider.requests]).to.eql(["acme: no sign-in yet", []]);
    await signIn((nonce) => provider.issue({ nonce }));
    expect(await detail()).to.match(/^acme: 1 key\(s\), cached \d+s ago$/);
  });

  it("cannot inject text into the log or the response", async () => {
    const response = await signIn(() =>
      provider.answer(400, { error: "a\nforged line", error_description: "x" }),
    );
    expect(await response.text()).not.to.contain("forged");
    expect(JSON.stringify(service.lines)).not.to.contain("forged");
    // Search by message, because the record that reports the keys may follow the refusal.
    const refused = service.lines.findLast((each) => each.message === "sign-in refused");
    expect(refused?.fields).to.include({ at: "an invalid error code" });
  });
});

function tokens(more: object): object {
  return { access_token: "at-1", token_type: "Bearer", ...more };
}
