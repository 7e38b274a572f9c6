import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { mock } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { type JwtAuth, jwtAuth, type JwtAuthOptions } from "@svc/jwt-auth";
import { ConfigurationError } from "@svc/options";
import { collectingLogger, listen } from "@svc/test-support";
import { type RealProvider, realProvider, signInThere } from "@svc/test-support/openid";
import { expect } from "chai";
import { createDiscoveredKeySource } from "../src/discovered-key-source.ts";
import { forge, now } from "./support/forge.ts";
import { jwkOf, readinessOf } from "./support/issuer.ts";
import { keyFixture } from "./support/key-fixtures.ts";
import { thrownBy } from "./support/verifying.ts";

const audience = "orders";
const CONFIGURATION = "/.well-known/openid-configuration";

type Answer = (url: string, res: ServerResponse) => void;

/** A server with a discovery document and a key set, either of which a test may replace. */
async function provider(path = "") {
  const requests: string[] = [];
  const answers = new Map<string, Answer>();
  const server = await listen((req: IncomingMessage, res) => {
    const { url = "" } = req;
    requests.push(url);
    const answer = answers.get(url);
    if (answer === undefined) res.writeHead(404).end();
    else answer(url, res);
  });
  const issuer = server.url + path;
  const json =
    (value: unknown): Answer =>
    (_url, res) =>
      void res.setHeader("content-type", "application/json").end(JSON.stringify(value));
  const discovery = `${path.replace(/\/$/, "")}${CONFIGURATION}`;
  const publish = (document: unknown): void => void answers.set(discovery, json(document));
  publish({ issuer, jwks_uri: `${server.url}/keys` });
  answers.set("/keys", json({ keys: [jwkOf("rsa2048", { kid: "1" })] }));
  return {
    url: server.url,
    issuer,
    requests,
    publish,
    answer: (url: string, by: Answer): void => void answers.set(url, by),
    json,
    discovery,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function authOf(issuer: string, options: Partial<JwtAuthOptions> = {}): JwtAuth {
  const issuers = [{ issuer, discovery: true, audience }];
  return jwtAuth({ issuers, env: "local", jwksAttempts: 1, now, ...options });
}

async function reasonFor(auth: JwtAuth, iss: string, kid = "1"): Promise<string> {
  const token = forge({ header: { kid }, claims: { iss, aud: audience } });
  return (await auth.verifier.verify(token)).reason ?? "accepted";
}

/** Returns why the keys of an issuer are missing, as the readiness check reports it. */
async function failureOf(auth: JwtAuth, iss: string): Promise<string> {
  expect(await reasonFor(auth, iss)).to.equal("keys_unavailable");
  const { healthy, critical, detail, meta } = await auth.readiness().check(new AbortController().signal);
  expect({ healthy, critical, detail }).to.eql({
    healthy: false,
    critical: true,
    detail: `${iss}: no keys fetched yet`,
  });
  return String(meta?.["lastFailure"]).replace(`${iss}: `, "");
}

/** Signs a person in at the provider and returns the ID token. */
async function idTokenOf(real: RealProvider): Promise<string> {
  const redirectUri = "https://app.example/callback";
  real.accept(redirectUri);
  const client = { client_id: "client-1", redirect_uri: redirectUri };
  const verifier = "v".repeat(43);
  const authorization = new URLSearchParams({
    ...client,
    response_type: "code",
    scope: "openid",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  });
  const callback = await signInThere(`${real.options.authorizationEndpoint}?${authorization.toString()}`);
  const body = new URLSearchParams({
    ...client,
    client_secret: "secret-of-the-client",
    grant_type: "authorization_code",
    code: new URL(callback).searchParams.get("code") ?? "",
    code_verifier: verifier,
  });
  const answer = await fetch(real.options.tokenEndpoint, { method: "POST", body });
  return ((await answer.json()) as { id_token: string }).id_token;
}

describe("an issuer with discovery", () => {
  it("verifies an ID token of a real OpenID provider, with the keys that it publishes", async () => {
    await using real = await realProvider();
    const logger = collectingLogger();
    const idToken = await idTokenOf(real);
    const issuers = [{ issuer: real.url, discovery: true, audience: "client-1" }];
    await using auth = jwtAuth({ issuers, env: "local", logger });
    expect(await auth.verifier.verify(idToken)).to.have.nested.property("principal.subject", "ada");
    const end = idToken.endsWith("A") ? "Q" : "A";
    expect(await auth.verifier.verify(idToken.slice(0, -1) + end)).to.have.property("reason");
    const { healthy, detail } = await auth.readiness().check(new AbortController().signal);
    expect(healthy, detail).to.equal(true);
    expect(detail).to.match(/^http:\/\/127\.0\.0\.1:\d+: \d key\(s\), cached \d+s ago$/);
    expect(logger.lines.find(({ level }) => level === "info")?.fields).to.include({ key_set: real.url });
  });

  it("may be the only issuer, with the options discovery and issuer", async () => {
    await using given = await provider();
    const options = { issuer: given.issuer, discovery: true, audience, env: "local", now } as const;
    await using auth = jwtAuth({ ...options, jwksAttempts: 1 });
    expect(await reasonFor(auth, given.issuer)).to.equal("accepted");
    expect(given.requests).to.eql([CONFIGURATION, "/keys"]);
    expect(await reasonFor(auth, `${given.issuer}/x`)).to.equal("issuer");
    expect((await auth.readiness().check(new AbortController().signal)).detail).to.match(
      /^1 key\(s\), cached/,
    );
  });

  for (const [path, discovery] of [
    ["", CONFIGURATION],
    ["/", CONFIGURATION],
    ["/realms/shop", `/realms/shop${CONFIGURATION}`],
    ["/realms/shop/", `/realms/shop${CONFIGURATION}`],
  ] as const) {
    it(`has its discovery document below the path "${path}" (KEY-1)`, async () => {
      await using given = await provider(path);
      await using auth = authOf(given.issuer);
      expect(await reasonFor(auth, given.issuer)).to.equal("accepted");
      expect(await reasonFor(auth, `${given.issuer}/x`)).to.equal("issuer");
      expect(given.requests).to.eql([discovery, "/keys"]);
    });
  }

  it("is refused if its document names another issuer, or none", async () => {
    for (const issuer of [undefined, "https://other.example", ["x"], ""]) {
      await using given = await provider();
      given.publish({ issuer, jwks_uri: `${given.url}/keys` });
      await using auth = authOf(given.issuer);
      expect(await failureOf(auth, given.issuer)).to.equal(
        "the discovery document does not name this issuer",
      );
      expect(given.requests).to.eql([CONFIGURATION]);
    }
    await using given = await provider();
    given.publish({ issuer: `${given.issuer}/`, jwks_uri: `${given.url}/keys` });
    await using auth = authOf(given.issuer);
    expect(await failureOf(auth, given.issuer)).to.equal("the discovery document does not name this issuer");
  });

  it("is refused if its document has no jwks_uri that may be fetched (KEY-14)", async () => {
    const text = "the discovery document has no jwks_uri that may be fetched";
    for (const jwksUri of [
      undefined,
      "",
      "/keys",
      7,
      "file:///etc/passwd",
      "http://user:password@127.0.0.1/keys",
    ]) {
      await using given = await provider();
      given.publish({ issuer: given.issuer, jwks_uri: jwksUri });
      await using auth = authOf(given.issuer);
      expect(await failureOf(auth, given.issuer)).to.equal(text);
    }
    // An https issuer must not send the service to a plain http key set, in any environment.
    const fetched: string[] = [];
    const issuer = "https://a.example";
    using source = createDiscoveredKeySource({
      issuer,
      env: "local",
      attempts: 1,
      fetch: async (url) => {
        fetched.push(url instanceof Request ? url.url : url.toString());
        return Response.json({ issuer, jwks_uri: "http://a.example/keys" });
      },
    });
    await source.refresh("1", "RS256").catch(() => undefined);
    expect((await readinessOf(source)).meta).to.eql({ lastFailure: text });
    expect(fetched).to.eql([`${issuer}${CONFIGURATION}`]);
  });

  it("is refused if its document is missing, redirects, is not JSON, or is larger than 1 MiB (KEY-13)", async () => {
    const answers: readonly (readonly [string, Answer])[] = [
      ["the endpoint answered 404", (_url, res) => res.writeHead(404).end()],
      ["the endpoint answered 503", (_url, res) => res.writeHead(503).end()],
      [
        "the endpoint returned a redirect (302), which is not followed",
        (_url, res) => res.writeHead(302, { location: "/elsewhere" }).end(),
      ],
      ["the response is not JSON", (_url, res) => res.end("<html>")],
      ["the response is larger than 1 MiB", (_url, res) => res.end(`"${"x".repeat(1_048_576)}"`)],
      ["network error (UND_ERR_SOCKET)", (_url, res) => res.destroy()],
    ];
    for (const [expected, answer] of answers) {
      await using given = await provider();
      given.answer(given.discovery, answer);
      await using auth = authOf(given.issuer);
      expect(await failureOf(auth, given.issuer)).to.equal(`discovery failed: ${expected}`);
    }
    await using given = await provider();
    given.answer("/keys", (_url, res) => res.writeHead(500).end());
    await using auth = authOf(given.issuer);
    expect(await failureOf(auth, given.issuer)).to.equal("the endpoint answered 500");
  });

  it("ends a fetch at the timeout, which covers both documents (KEY-6)", async () => {
    for (const hanging of [CONFIGURATION, "/keys"]) {
      await using given = await provider();
      given.answer(hanging, () => undefined);
      await using auth = authOf(given.issuer, { jwksTimeoutSeconds: 0.2 });
      expect(await failureOf(auth, given.issuer)).to.equal("no complete answer within 0.2 s");
    }
  });

  it("allows each of its two documents the same time per attempt as a fetched key set (KEY-6)", async () => {
    const issuer = "https://a.example";
    const requests: { readonly path: string; readonly answer: (value: unknown) => void }[] = [];
    let clock = 0;
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      using source = createDiscoveredKeySource({
        issuer,
        attempts: 2,
        timeoutSeconds: 2,
        now: () => clock,
        fetch: (url) =>
          new Promise((resolve) => {
            const { pathname } = new URL(url instanceof Request ? url.url : url);
            requests.push({ path: pathname, answer: (value) => resolve(Response.json(value)) });
          }),
      });
      const documents = [{ issuer, jwks_uri: `${issuer}/keys` }, { keys: [jwkOf("rsa2048", { kid: "1" })] }];
      const refreshed = source.refresh("1", "RS256");
      for (const document of documents) {
        // One of two attempts within 2 s may take 1 s.
        clock += 999;
        mock.timers.tick(999);
        for (let turns = 0; turns < 10; turns++) await turn();
        requests.at(-1)?.answer(document);
        for (let turns = 0; turns < 10; turns++) await turn();
      }
      expect(requests.map(({ path }) => path)).to.eql([CONFIGURATION, "/keys"]);
      expect((await refreshed)?.type).to.equal("public");
    } finally {
      mock.timers.reset();
    }
  });

  it("retries a hanging request for the discovery document within one timeout (KEY-6)", async () => {
    await using given = await provider();
    const works = given.json({ issuer: given.issuer, jwks_uri: `${given.url}/keys` });
    given.answer(given.discovery, (url, res) => {
      if (given.requests.length > 1) works(url, res);
    });
    await using auth = authOf(given.issuer, { jwksAttempts: 2, jwksTimeoutSeconds: 4 });
    expect(await reasonFor(auth, given.issuer)).to.equal("accepted");
    expect(given.requests).to.eql([CONFIGURATION, CONFIGURATION, "/keys"]);
  });

  it("repeats a failed request, and keeps serving its keys when discovery fails later (KEY-4, KEY-7)", async () => {
    await using given = await provider();
    let failures = 1;
    const works = given.json({ issuer: given.issuer, jwks_uri: `${given.url}/keys` });
    given.answer(given.discovery, (url, res) => {
      failures -= 1;
      if (failures < 0) works(url, res);
      else res.writeHead(503).end();
    });
    await using auth = authOf(given.issuer, { jwksAttempts: 2 });
    expect(await reasonFor(auth, given.issuer)).to.equal("accepted");
    expect(given.requests).to.eql([CONFIGURATION, CONFIGURATION, "/keys"]);
    failures = Infinity;
    expect(await reasonFor(auth, given.issuer, "2")).to.equal("keys_unavailable");
    expect(await reasonFor(auth, given.issuer)).to.equal("accepted");
    const { healthy, critical, detail } = await auth.readiness().check(new AbortController().signal);
    expect([healthy, critical]).to.eql([false, false]);
    expect(detail).to.include("last refresh failed: discovery failed: the endpoint answered 503");
  });

  it("follows a jwks_uri that has changed, at the next fetch", async () => {
    await using given = await provider();
    await using auth = authOf(given.issuer);
    expect(await reasonFor(auth, given.issuer)).to.equal("accepted");
    given.publish({ issuer: given.issuer, jwks_uri: `${given.url}/moved` });
    given.answer("/moved", given.json({ keys: [jwkOf("otherRsa2048", { kid: "2" })] }));
    const key = keyFixture("otherRsa2048").privateKey;
    const token = forge({ key, header: { kid: "2" }, claims: { iss: given.issuer, aud: audience } });
    expect(await auth.verifier.verify(token)).to.have.property("principal");
    expect(await reasonFor(auth, given.issuer)).to.equal("unknown_key");
  });
});

describe("the option checks of an issuer with discovery", () => {
  function faultsOf(issuer: object, options: object = {}): readonly string[] {
    const issuers = [{ discovery: true, audience, ...issuer }];
    const error = thrownBy(() => jwtAuth({ issuers, ...options } as object as JwtAuthOptions));
    if (!(error instanceof ConfigurationError)) throw error;
    return error.faults.map(({ key, message }) => `${key}: ${message}`);
  }

  it("reject an issuer that is not an https URL, or has user-info, a query or a fragment (KEY-14)", () => {
    for (const [issuer, expected] of [
      ["shop", /^issuers\[0\]\.issuer: must be a URL with discovery$/],
      ["http://a.example", /^issuers\[0\]\.issuer: must begin with https:\/\/ in prod/],
      ["ftp://a.example", /^issuers\[0\]\.issuer: must begin with https:/],
      ["https://user:password@a.example", /^issuers\[0\]\.issuer: must not contain a user name or password/],
      ["https://a.example?x", /^issuers\[0\]\.issuer: must have no query and no fragment/],
      ["https://a.example#x", /^issuers\[0\]\.issuer: must have no query and no fragment/],
    ] as const) {
      const faults = faultsOf({ issuer });
      expect(faults).to.have.length(1);
      expect(faults[0]).to.match(expected).and.not.include("password@");
    }
  });

  it("reject discovery with another source of keys or symmetric algorithms, a value that is not a boolean, and an issuer without keys", () => {
    const issuer = "https://a.example";
    expect(faultsOf({ issuer, jwksUrl: issuer })).to.eql([
      "issuers[0].jwksUrl, issuers[0].discovery: cannot be combined; set one of them, which determines how tokens are verified",
    ]);
    expect(faultsOf({ issuer, algorithms: ["HS256"] })).to.eql([
      "issuers[0].algorithms: has HS256; with issuers[0].discovery, use RS*, PS*, ES* or EdDSA",
    ]);
    expect(faultsOf({ issuer, discovery: "yes" })[0]).to.match(
      /^issuers\[0\]\.discovery: must be true or false/,
    );
    expect(faultsOf({ issuer, discovery: false })).to.eql([
      "issuers[0].jwksUrl: is missing: set discovery, jwksUrl or keys",
    ]);
    expect(faultsOf({ issuer }, { jwksTimeoutSeconds: 0 })[0]).to.match(/^jwksTimeoutSeconds: must be/);
  });

  it("report the faults of a single issuer under the names of its options", () => {
    const jwksUrl = "https://a.example/keys";
    for (const [options, expected] of [
      [{ discovery: true, audience }, "issuer: must be a URL with discovery"],
      [{ discovery: "yes" }, 'discovery: must be true or false; it is "yes"'],
      [
        { discovery: false },
        "jwksUrl: is missing: set jwksUrl, publicKey, secret, keys, discovery or issuers",
      ],
      [
        { discovery: true, issuer: "https://a.example", jwksUrl },
        "jwksUrl, discovery: cannot be combined; set one of them, which determines how tokens are verified",
      ],
      [
        { discovery: true, issuer: "https://a.example", mode: "jwks" },
        "mode: is jwks, which needs jwksUrl; discovery is set",
      ],
    ] as const) {
      const error = thrownBy(() => jwtAuth(options as object as JwtAuthOptions));
      if (!(error instanceof ConfigurationError)) throw error;
      expect(error.faults.map(({ key, message }) => `${key}: ${message}`)).to.eql([expected]);
    }
  });
});
