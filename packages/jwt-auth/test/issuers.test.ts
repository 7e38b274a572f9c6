import { createSecretKey } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { jwtAuth, type JwtAuthOptions, type KeySource, requireAuth, type Verifier } from "@svc/jwt-auth";
import { ConfigurationError } from "@svc/options";
import { collectingLogger } from "@svc/test-support";
import { expect } from "chai";
import { forge, type Forgery, now } from "./support/forge.ts";
import { failing, issuer as startIssuer, jwkOf } from "./support/issuer.ts";
import { type KeyName, keyFixture, pemOf } from "./support/key-fixtures.ts";
import { ask, bearer, serve } from "./support/stacks.ts";
import { thrownBy } from "./support/verifying.ts";

const A = "https://a.example";
const B = "https://b.example";
const C = "https://c.example";
const audience = "orders";

/** Three issuers that use the same key id; two also use the same algorithm. */
const three = {
  issuers: [
    { issuer: A, keys: { keys: [jwkOf("rsa2048", { kid: "1" })] }, audience },
    { issuer: B, keys: { keys: [jwkOf("otherRsa2048", { kid: "1" })] }, audience },
    { issuer: C, keys: { keys: [jwkOf("p256", { kid: "1" })] }, audience },
  ],
} as const satisfies JwtAuthOptions;

const signers: Readonly<Record<string, KeyName>> = { [A]: "rsa2048", [B]: "otherRsa2048", [C]: "p256" };

function verifierOf(options: JwtAuthOptions): Verifier {
  return jwtAuth({ now, ...options }).verifier;
}

/** Makes a token in the name of `iss`, signed with a key of `signer`. */
function tokenOf(iss: unknown, signer: string, { claims, ...forgery }: Forgery = {}): string {
  const algorithm = signer === C ? "ES256" : "RS256";
  const key = keyFixture(signers[signer] ?? "secret").privateKey;
  return forge({
    algorithm,
    key,
    header: { kid: "1" },
    claims: { iss, aud: audience, ...claims },
    ...forgery,
  });
}

async function reasonFor(verifier: Verifier, token: string): Promise<string> {
  const { reason, at } = { at: "", ...(await verifier.verify(token)) };
  return reason === undefined ? "accepted" : `${reason} ${at}`;
}

/** Returns the faults of a configuration, each as `option: message`. */
function faultsOf(options: object): readonly string[] {
  const error = thrownBy(() => jwtAuth(options as JwtAuthOptions));
  if (!(error instanceof ConfigurationError)) throw error;
  expect(error.message).to.match(/^jwtAuth\(\) is configured wrongly/);
  return error.faults.map(({ key, message }) => `${key}: ${message}`);
}

/** Returns a key source that counts its look-ups. */
function counted(name: KeyName): KeySource & { lookUps: number } {
  return {
    generation: 0,
    lookUps: 0,
    find() {
      this.lookUps += 1;
      return keyFixture(name).publicKey;
    },
    async refresh() {
      this.lookUps += 1;
      return undefined;
    },
  };
}

describe("jwtAuth() with several issuers", () => {
  it("accepts a token only if the key of its own issuer signed it, even if all issuers use the same kid (AUTH-6)", async () => {
    const verifier = verifierOf(three);
    for (const iss of [A, B, C]) {
      for (const signer of [A, B, C]) {
        for (const kid of ["1", undefined]) {
          const said = await reasonFor(verifier, tokenOf(iss, signer, { header: { kid } }));
          const sameAlgorithm = (iss === C) === (signer === C);
          const refused = sameAlgorithm ? "signature " : "algorithm_not_allowed alg";
          expect(said, `${iss} signed by ${signer}`).to.equal(iss === signer ? "accepted" : refused);
        }
      }
    }
    expect(verifier.cachedTokens).to.equal(6);
    expect(verifier.algorithms).to.eql(["RS256", "ES256"]);
  });

  it("keeps verifying with the right key when valid tokens of several issuers are cached", async () => {
    const verifier = verifierOf(three);
    for (const iss of [A, B, C, A, B, C]) {
      expect(await verifier.verify(tokenOf(iss, iss))).to.have.nested.property("principal.issuer", iss);
      const swapped = iss === A ? B : A;
      expect(await reasonFor(verifier, tokenOf(iss, swapped))).to.match(
        /^(signature|algorithm_not_allowed) /,
      );
    }
  });

  it("matches iss exactly, and looks up no key for any other issuer", async () => {
    const [a, b] = [counted("rsa2048"), counted("otherRsa2048")];
    const verifier = verifierOf({
      issuers: [
        { issuer: A, keys: a, audience },
        { issuer: B, keys: b, audience },
      ],
    });
    const others = [
      `${A}/`,
      A.toUpperCase(),
      ` ${A}`,
      `${A}\u0000`,
      A.slice(0, -1),
      `${A},${B}`,
      "https://a.example:443",
      "",
      "__proto__",
      "constructor",
      "toString",
    ];
    for (const iss of others) expect(await reasonFor(verifier, tokenOf(iss, A)), iss).to.equal("issuer iss");
    expect(await reasonFor(verifier, tokenOf(undefined, A))).to.equal("claim_missing iss");
    for (const iss of [null, 1, [A], [A, B], { toString: A }])
      expect(await reasonFor(verifier, tokenOf(iss, A))).to.equal("claim_type iss");
    expect(await reasonFor(verifier, "not a token")).to.equal("malformed ");
    expect([a.lookUps, b.lookUps]).to.eql([0, 0]);
    expect(await reasonFor(verifier, tokenOf(A, A))).to.equal("accepted");
    expect([a.lookUps, b.lookUps]).to.eql([1, 0]);
  });

  it("uses the last of two iss members to choose the issuer and to check the token", async () => {
    const verifier = verifierOf(three);
    const rest = `"sub":"ada","aud":"orders","iat":${now() / 1000},"exp":${now() / 1000 + 900}`;
    const twice = (first: string, last: string, signer: string) =>
      tokenOf(undefined, signer, { rawPayload: `{"iss":"${first}",${rest},"iss":"${last}"}` });
    expect(await verifier.verify(twice(B, A, A))).to.have.nested.property("principal.issuer", A);
    expect(await reasonFor(verifier, twice(B, A, B))).to.equal("signature ");
    expect(await reasonFor(verifier, twice(A, B, A))).to.equal("signature ");
  });

  it("allows each issuer only its own algorithms, audience and kind of key (AUTH-3, AUTH-5, AUTH-6)", async () => {
    const verifier = verifierOf({
      issuers: [
        { issuer: A, keys: pemOf("rsa2048"), audience: "a", algorithms: ["RS256", "PS256"] },
        { issuer: B, keys: pemOf("otherRsa2048"), audience: "b" },
        { issuer: C, keys: keyFixture("secret").publicKey, audience: "c" },
      ],
    });
    const said = (iss: string, aud: string, forgery: Forgery) =>
      reasonFor(verifier, forge({ claims: { iss, aud }, ...forgery }));
    const otherRsa = keyFixture("otherRsa2048").privateKey;
    const ofC = { algorithm: "HS256" } as const;
    const pemAsSecret = { ...ofC, key: createSecretKey(Buffer.from(pemOf("rsa2048"))) };
    expect([
      await said(A, "a", {}),
      await said(A, "a", { algorithm: "PS256" }),
      await said(A, "b", {}),
      await said(B, "b", { key: otherRsa }),
      await said(B, "a", { key: otherRsa }),
      await said(B, "b", { algorithm: "PS256", key: otherRsa }),
      await said(C, "c", ofC),
      await said(A, "a", ofC),
      await said(A, "a", pemAsSecret),
      await said(C, "c", pemAsSecret),
      await said(C, "c", {}),
    ]).to.eql([
      "accepted",
      "accepted",
      "audience aud",
      "accepted",
      "audience aud",
      "algorithm_not_allowed alg",
      "accepted",
      "algorithm_not_allowed alg",
      "algorithm_not_allowed alg",
      "signature ",
      "algorithm_not_allowed alg",
    ]);
  });

  it("calls the key function of an issuer only for tokens with its iss", async () => {
    const calls: string[] = [];
    const choosing = (name: KeyName) => () => {
      calls.push(name);
      return keyFixture(name).publicKey;
    };
    const verifier = verifierOf({
      issuers: [
        { issuer: A, keys: choosing("rsa2048"), audience },
        { issuer: B, keys: choosing("otherRsa2048"), audience },
      ],
    });
    expect(await reasonFor(verifier, tokenOf(B, B))).to.equal("accepted");
    expect(await reasonFor(verifier, tokenOf(B, A))).to.equal("signature ");
    expect(await reasonFor(verifier, tokenOf(C, B))).to.equal("issuer iss");
    expect(calls).to.eql(["otherRsa2048", "otherRsa2048"]);
  });

  it("fetches the key set of an issuer only for a token with its iss (KEY-1)", async () => {
    await using a = await startIssuer(jwkOf("rsa2048", { kid: "1" }));
    await using b = await startIssuer(jwkOf("otherRsa2048", { kid: "1" }));
    await using auth = jwtAuth({
      issuers: [
        { issuer: A, jwksUrl: a.url, audience },
        { issuer: B, jwksUrl: b.url, audience },
      ],
      env: "local",
      now,
    });
    await Promise.all([a.arrived(1), b.arrived(1)]);
    expect(await reasonFor(auth.verifier, tokenOf(A, A))).to.equal("accepted");
    expect(await reasonFor(auth.verifier, tokenOf(B, B))).to.equal("accepted");
    const unknown = { header: { kid: "unknown" } };
    expect(await reasonFor(auth.verifier, tokenOf(C, A, unknown))).to.equal("issuer iss");
    expect([a.requests, b.requests]).to.eql([1, 1]);
    expect(await reasonFor(auth.verifier, tokenOf(B, A, unknown))).to.equal("unknown_key kid");
    expect([a.requests, b.requests]).to.eql([1, 2]);
  });

  it("reports each issuer in the readiness check, which is critical only if no issuer has keys (RDY-14)", async () => {
    await using a = await startIssuer(jwkOf("rsa2048"));
    await using b = await startIssuer();
    b.answer(failing());
    const entry = (issuer: string, jwksUrl: string) => ({ issuer, jwksUrl, audience });
    const settings = { env: "local", jwksAttempts: 1, now } as const;
    const signal = new AbortController().signal;
    const found = async (...issuers: readonly ReturnType<typeof entry>[]) => {
      await using auth = jwtAuth({ ...settings, issuers });
      for (const { issuer } of issuers) await auth.verifier.verify(tokenOf(issuer, A));
      return await auth.readiness().check(signal);
    };
    const one = await found(entry(A, a.url), entry(B, b.url));
    expect(one).to.include({ healthy: false, critical: false });
    expect(one.detail).to.match(
      /^https:\/\/a\.example: 1 key\(s\), .*; https:\/\/b\.example: no keys fetched yet$/,
    );
    expect(await found(entry(B, b.url), entry(C, b.url))).to.include({ healthy: false, critical: true });
    expect(await found(entry(A, a.url))).to.include({ healthy: true, critical: false });
    const fixed = jwtAuth(three).readiness();
    expect(await fixed.check(signal)).to.include({ healthy: true, detail: "the keys are configured" });
  });

  it("reports why keys could not be fetched, without user-info, and the error of a check that throws (RDY-14)", async () => {
    await using a = await startIssuer();
    a.answer(failing());
    const own: KeySource = {
      ...counted("rsa2048"),
      readiness: () => ({
        name: "own",
        critical: false,
        check: () => {
          throw new RangeError("secret text");
        },
      }),
    };
    const secretive = "https://user:password@a.example/path?key=secret";
    await using auth = jwtAuth({
      issuers: [
        { issuer: secretive, jwksUrl: a.url, audience },
        { issuer: B, keys: own, audience },
      ],
      env: "local",
      jwksAttempts: 1,
      now,
    });
    expect(await reasonFor(auth.verifier, tokenOf(secretive, A))).to.equal("keys_unavailable ");
    expect(await auth.readiness().check(new AbortController().signal)).to.eql({
      healthy: false,
      critical: false,
      detail: `${A}/path: no keys fetched yet; ${B}: the check failed (RangeError)`,
      meta: { lastFailure: `${A}/path: the endpoint answered 503` },
    });
  });

  it("stops the fetches of other issuers when a key source throws at construction", async () => {
    await using a = await startIssuer(jwkOf("rsa2048", { kid: "1" }));
    const throwing: KeySource = {
      ...counted("rsa2048"),
      get algorithms(): never {
        throw new RangeError("no algorithms");
      },
    };
    const first = { issuer: A, jwksUrl: a.url, audience };
    const settings = { env: "local", now } as const;
    const issuers = [first, { issuer: B, keys: throwing, audience }];
    expect(() => jwtAuth({ ...settings, issuers })).to.throw(RangeError, "no algorithms");
    await setImmediate();
    await using auth = jwtAuth({ ...settings, issuers: [first] });
    expect(await reasonFor(auth.verifier, tokenOf(A, A))).to.equal("accepted");
    expect(a.requests).to.equal(1);
  });

  it("refuses tokens and ignores inherited options when Object.prototype is polluted", async () => {
    const verifier = verifierOf(three);
    const polluted = Object.prototype as { reason?: string; issuers?: unknown; secret?: string };
    try {
      polluted.reason = "x";
      expect(await verifier.verify(tokenOf(A, B))).to.not.have.property("principal");
      expect(
        Object.hasOwn(await verifier.verify(tokenOf(C, A, { header: { alg: "none" } })), "reason"),
      ).to.equal(true);
      delete polluted.reason;
      polluted.issuers = [];
      polluted.secret = "s".repeat(32);
      expect(verifierOf({ keys: pemOf("rsa2048") }).algorithms).to.eql(["RS256"]);
      delete polluted.issuers;
      expect(verifierOf(three).algorithms).to.eql(["RS256", "ES256"]);
    } finally {
      delete polluted.reason;
      delete polluted.issuers;
      delete polluted.secret;
    }
    expect(await reasonFor(verifier, tokenOf(A, A))).to.equal("accepted");
  });

  it("stops the key sets that it fetches, but not an application's own source", async () => {
    let stopped = 0;
    const own: KeySource = { ...counted("rsa2048"), stop: () => void (stopped += 1) };
    await using a = await startIssuer(jwkOf("rsa2048"));
    const auth = jwtAuth({
      issuers: [
        { issuer: A, jwksUrl: a.url, audience },
        { issuer: B, keys: own, audience },
      ],
      env: "local",
      now,
    });
    auth.stop();
    expect(await reasonFor(auth.verifier, tokenOf(A, A))).to.equal("keys_unavailable ");
    expect([a.requests, stopped]).to.eql([0, 0]);
  });

  it("gives each issuer an equal share of cacheTokens", async () => {
    const verifier = verifierOf({ ...three, cacheTokens: 5 });
    for (const jti of ["1", "2", "3", "4"]) {
      for (const iss of [A, B]) await verifier.verify(tokenOf(iss, iss, { claims: { jti } }));
    }
    expect(verifier.cachedTokens).to.equal(4);
    expect(verifierOf({ ...three, cacheTokens: 0 }).cachedTokens).to.equal(0);
  });

  it("fetches no key set if its options are rejected", async () => {
    await using a = await startIssuer(jwkOf("rsa2048", { kid: "1" }));
    const first = { issuer: A, jwksUrl: a.url, audience };
    const settings = { env: "local", now } as const;
    expect(() => jwtAuth({ ...settings, issuers: [first, { issuer: B, audience }] })).to.throw(
      ConfigurationError,
    );
    // A source starts its fetch in the next turn of the event loop, so this fetch would arrive first.
    await setImmediate();
    await using auth = jwtAuth({ ...settings, issuers: [first] });
    expect(await reasonFor(auth.verifier, tokenOf(A, A))).to.equal("accepted");
    expect(a.requests).to.equal(1);
  });

  for (const stack of ["bare http", "express 4", "express 5"] as const) {
    it(`puts the caller of each issuer into the context, and logs one refusal (${stack}, AUTH-11)`, async () => {
      const logger = collectingLogger();
      const auth = jwtAuth({ ...three, logger, now });
      await using server = await serve(stack, [auth], { "/closed": [requireAuth()] });
      const get = (token: string) => ask(`${server.url}/closed`, bearer(token));
      for (const iss of [A, B, C]) {
        const { status, body } = await get(tokenOf(iss, iss));
        expect([status, body.principal?.issuer]).to.eql([200, iss]);
      }
      expect((await get(tokenOf(A, B))).status).to.equal(401);
      expect(logger.texts).to.eql(['info bearer token refused {"reason":"signature"}']);
    });
  }

  it("warns if one issuer has no audience (AUTH-6)", () => {
    const logger = collectingLogger();
    const [first, second] = three.issuers;
    const withPassword = {
      ...three.issuers[2],
      issuer: "https://u:secret@c.example/?k=secret",
      audience: "",
    };
    jwtAuth({ issuers: [first, { ...second, audience: [] }, withPassword], logger });
    expect(logger.at("warn")).to.eql([
      `no audience is configured for ${B}, ${C}/: tokens issued for other services are accepted`,
    ]);
    jwtAuth({ ...three, logger });
    expect(logger.lines).to.have.length(1);
  });
});

describe("the option checks of several issuers", () => {
  const keys = pemOf("rsa2048");

  it("reject two issuers with the same name", () => {
    const issuers = [
      { issuer: A, keys },
      { issuer: B, keys },
      { issuer: A, keys },
    ];
    expect(faultsOf({ issuers })).to.eql([
      "issuers[2].issuer: is also the value of issuers[0].issuer; list each issuer once",
    ]);
  });

  it("reject every single-issuer option together with the list", () => {
    const issuers = [{ issuer: A, keys }];
    const remedies: Readonly<Record<string, string>> = {
      mode: "remove it",
      publicKey: "use keys of the issuer",
      secret: "use keys of the issuer, with a KeyObject of type secret",
    };
    for (const [option, value] of Object.entries({
      mode: "jwks",
      jwksUrl: "https://x.invalid/",
      discovery: true,
      publicKey: keys,
      secret: "s".repeat(32),
      keys,
      issuer: A,
      audience,
      algorithms: ["RS256"],
      revocation: { isRevoked: () => false },
    })) {
      expect(faultsOf({ issuers, [option]: value })).to.eql([
        `${option}: cannot be combined with issuers; ${remedies[option] ?? "set it for each issuer"}`,
      ]);
    }
    jwtAuth({ issuers, keys: undefined, issuer: "", discovery: false });
  });

  it("name the issuer of each fault, and report all faults at once", () => {
    const faults = faultsOf({
      issuers: [
        { issuer: A },
        { issuer: B, keys, jwksUrl: "https://x.invalid/" },
        { issuer: C, keys: pemOf("p256"), algorithms: ["RS256"] },
        { issuer: "d", keys, algorithms: ["RS256", "HS256"] },
        { issuer: "e", jwksUrl: "http://x.invalid/" },
        { issuer: "f", keys, audiense: "x" },
        { keys },
        { issuer: "", keys },
        { issuer: "g", keys: 7 },
        { issuer: "h", secret: "s".repeat(32) },
        { issuer: "i", keys, revocation: {} },
      ],
      scopeClaim: "grt",
    });
    const expected = [
      /^issuers\[0\]\.jwksUrl: is missing: set discovery, jwksUrl or keys$/,
      /^issuers\[1\]\.jwksUrl, issuers\[1\]\.keys: cannot be combined/,
      /^scopeClaim: must not be grt/,
      /^issuers\[2\]\.keys: does not fit the algorithms: RS256 needs a key of type rsa/,
      /^issuers\[3\]\.algorithms: mixes the symmetric HS256/,
      /^issuers\[4\]\.jwksUrl: must begin with https:/,
      /^issuers\[5\]\.audiense: is unknown; did you mean audience\?$/,
      /^issuers\[6\]\.issuer: is required/,
      /^issuers\[7\]\.issuer: must be a non-empty string/,
      /^issuers\[8\]\.keys: must be a key source/,
      /^issuers\[9\]\.secret: is unknown/,
      /^issuers\[10\]\.revocation: must be a revocation check/,
    ];
    expect(faults, faults.join("\n")).to.have.length(expected.length);
    for (const pattern of expected) {
      expect(
        faults.filter((each) => pattern.test(each)),
        String(pattern),
      ).to.have.length(1);
    }
  });

  it("accept class instances, read each getter once, and report unknown, repeated and unreadable members", async () => {
    let reads = 0;
    class Partner {
      readonly #pem: string;
      readonly audience = audience;
      constructor(pem: string) {
        this.#pem = pem;
      }
      get issuer(): string {
        reads += 1;
        return A;
      }
      get keys(): string {
        return this.#pem;
      }
    }
    const verifier = verifierOf({ issuers: [new Partner(keys)] });
    expect(reads).to.equal(1);
    expect(await reasonFor(verifier, tokenOf(A, A))).to.equal("accepted");
    const bare = Object.assign(Object.create(null) as object, { issuer: A, keys, audience });
    expect(await reasonFor(verifierOf({ issuers: [bare] } as JwtAuthOptions), tokenOf(A, A))).to.equal(
      "accepted",
    );
    const unknown = Object.assign(new Partner(keys), { audiense: "x" });
    expect(faultsOf({ issuers: [unknown] })).to.eql([
      "issuers[0].audiense: is unknown; did you mean audience?",
    ]);
    expect(faultsOf({ issuers: [new Partner(keys), new Partner(keys)] })).to.eql([
      "issuers[1].issuer: is also the value of issuers[0].issuer; list each issuer once",
    ]);
    const throwing = {
      get issuer(): string {
        throw new RangeError("secret text");
      },
      keys,
    };
    expect(faultsOf({ issuers: [throwing] })).to.eql(["issuers[0].issuer: cannot be read: RangeError"]);
  });

  it("reject a list that is empty or has entries that are not objects", () => {
    for (const issuers of [[], {}, "x", [A], [null], [[]]]) {
      const faults = faultsOf({ issuers });
      expect(faults).to.have.length(1);
      expect(faults[0]).to.match(/^issuers: must be a list of one or more issuers/);
    }
  });

  it("do not show a private key that was set as an issuer or as its keys", () => {
    const pem = keyFixture("p256").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    for (const issuers of [pem, [pem], [{ issuer: A, keys: [pem] }], [{ issuer: A, keys: pem }]]) {
      const faults = faultsOf({ issuers });
      expect(faults).to.have.length(1);
      expect(faults[0])
        .to.match(/^issuers/)
        .and.not.include("PRIVATE KEY");
    }
  });
});
