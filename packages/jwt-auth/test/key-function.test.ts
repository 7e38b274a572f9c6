import { createSecretKey, subtle } from "node:crypto";
import {
  createVerifier,
  jwtAuth,
  type JwtAuthOptions,
  type KeyFunction,
  requireAuth,
  type UnverifiedHeader,
  type VerificationKey,
  type Verifier,
} from "@svc/jwt-auth";
import { collectingLogger } from "@svc/test-support";
import { expect } from "chai";
import { MOST_CALLS } from "../src/key-function.ts";
import { forge, type Forgery, now } from "./support/forge.ts";
import { jwkOf } from "./support/issuer.ts";
import { type KeyName, keyFixture, pemOf } from "./support/key-fixtures.ts";
import { ask, bearer, serve } from "./support/stacks.ts";

const rsa = keyFixture("rsa2048").publicKey;

function verifierOf(keys: KeyFunction, options: Partial<JwtAuthOptions> = {}): Verifier {
  return jwtAuth({ keys, now, ...options }).verifier;
}

async function reasonFor(verifier: Verifier, forgery: Forgery = {}): Promise<string> {
  const { reason, at } = { at: "", ...(await verifier.verify(forge(forgery))) };
  return reason === undefined ? "accepted" : `${reason} ${at}`;
}

/** Returns a function that returns any value, as JavaScript code may. */
function returning(value: unknown): KeyFunction {
  return () => value as VerificationKey;
}

class UnreadableError extends Error {
  override get name(): string {
    throw new Error("secret text");
  }
}

describe("a function as the option keys", () => {
  it("receives the whole header of the token, and chooses the key by it (AUTH-2)", async () => {
    const seen: UnverifiedHeader[] = [];
    const keys: KeyFunction = (header) => {
      seen.push(header);
      return header["tenant"] === "b" ? keyFixture("otherRsa2048").publicKey : rsa;
    };
    for (const verifier of [verifierOf(keys), createVerifier({ keys, now })]) {
      seen.length = 0;
      const said = [
        await reasonFor(verifier, { header: { kid: "k" } }),
        await reasonFor(verifier, { header: { tenant: "b" } }),
        await reasonFor(verifier, {
          header: { tenant: "b" },
          key: keyFixture("otherRsa2048").privateKey,
        }),
      ];
      expect(said).to.eql(["accepted", "signature ", "accepted"]);
      expect(seen[0]).to.eql({ alg: "RS256", typ: "JWT", kid: "k" });
      expect(seen[1]).to.eql({ alg: "RS256", typ: "JWT", tenant: "b" });
      expect(verifier.algorithms).to.eql(["RS256"]);
    }
  });

  it("returns a key in any form, or a promise of one", async () => {
    const spki = rsa.export({ type: "spki", format: "der" });
    const rs256 = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
    const cryptoKey = await subtle.importKey("spki", spki, rs256, true, ["verify"]);
    const jwk = jwkOf("rsa2048", { kid: "k" }) as VerificationKey;
    for (const key of [rsa, cryptoKey, jwk, { keys: [jwk] } as VerificationKey, pemOf("rsa2048")]) {
      for (const keys of [() => key, async () => key]) {
        const verifier = verifierOf(keys);
        for (const kid of [undefined, "k"])
          expect(await reasonFor(verifier, { header: { kid } })).to.equal("accepted");
        const key = keyFixture("otherRsa2048").privateKey;
        expect(await reasonFor(verifier, { header: { kid: "k" }, key })).to.equal("signature ");
      }
    }
    const secret = verifierOf(() => keyFixture("secret").publicKey, { algorithms: ["HS256"] });
    expect(await reasonFor(secret, { algorithm: "HS256" })).to.equal("accepted");
  });

  it("is called for every valid token, so that a removed key is refused at once", async () => {
    let key: VerificationKey | undefined = rsa;
    const verifier = verifierOf(() => key);
    const token = forge();
    expect(await verifier.verify(token)).to.have.property("principal");
    key = undefined;
    expect(await verifier.verify(token)).to.eql({ reason: "unknown_key", at: "kid" });
    expect(verifier.cachedTokens).to.equal(0);
  });

  it("is not called for a token that is refused without a key (AUTH-4)", async () => {
    let calls = 0;
    const verifier = verifierOf(() => {
      calls += 1;
      return rsa;
    });
    const said = [
      await reasonFor(verifier, { header: { alg: "none" } }),
      await reasonFor(verifier, { header: { alg: "HS256" } }),
      await reasonFor(verifier, { header: { crit: ["x"] } }),
      await reasonFor(verifier, { header: { kid: "k".repeat(257) } }),
      await reasonFor(verifier, { claims: { exp: 1 } }),
    ];
    expect(said.map((each) => each.split(" ")[0])).to.eql([
      "algorithm_not_allowed",
      "algorithm_not_allowed",
      "critical_header",
      "kid",
      "expired",
    ]);
    expect(calls).to.equal(0);
  });

  it("causes a refusal when it returns a key that does not fit the token's algorithm (AUTH-26)", async () => {
    const wrong: readonly (readonly [string, unknown])[] = [
      ["an EC key", keyFixture("p256").publicKey],
      ["a short RSA key", keyFixture("rsa1024").publicKey],
      ["a secret", keyFixture("secret").publicKey],
      ["a PEM of an EC key", pemOf("p256")],
      ["a JWK with another alg", jwkOf("rsa2048", { kid: undefined, alg: "PS256" })],
    ];
    for (const [what, value] of wrong) {
      const logger = collectingLogger();
      const said = await reasonFor(verifierOf(returning(value), { logger, audience: "a" }), {
        claims: { aud: "a" },
      });
      expect(said, what).to.equal("unknown_key alg");
      expect(logger.lines, what).to.have.length(1);
      const text = "the function `keys` returned a value that cannot verify tokens";
      expect(logger.lines[0], what).to.include({ level: "warn", message: text });
      expect(logger.lines[0]?.fields, what).to.include({ fault: "fits none of the algorithms RS256" });
    }
  });

  it("causes no warning when it returns a key for another of the configured algorithms", async () => {
    const logger = collectingLogger();
    const options = { logger, audience: "a", algorithms: ["RS256", "ES256"] } as const;
    const verifier = verifierOf(() => keyFixture("p256").publicKey, options);
    expect(await reasonFor(verifier, { claims: { aud: "a" } })).to.equal("unknown_key alg");
    expect(logger.lines).to.eql([]);
  });

  it("receives a signal that aborts at the timeout", async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const keys: KeyFunction = (_header, { signal }) =>
      new Promise(() => signal.addEventListener("abort", () => resolve(signal.reason)));
    const verifier = verifierOf(keys, { jwksTimeoutSeconds: 0.05 });
    expect(await reasonFor(verifier)).to.equal("keys_unavailable ");
    expect(await promise).to.have.property("name", "DeadlineError");
  });

  it("causes refusals while too many calls are in flight, and is called again afterwards", async () => {
    const logger = collectingLogger();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    let calls = 0;
    const verifier = verifierOf(
      async () => {
        calls += 1;
        await promise;
        return rsa;
      },
      { logger, audience: "a" },
    );
    const token = forge({ claims: { aud: "a" } });
    const waiting = Array.from({ length: MOST_CALLS }, async () => verifier.verify(token));
    expect(await verifier.verify(token)).to.eql({ reason: "keys_unavailable" });
    expect(calls).to.equal(MOST_CALLS);
    expect(logger.at("warn")).to.eql([
      "too many calls of the function `keys` are in flight; tokens are refused",
    ]);
    resolve(undefined);
    expect((await Promise.all(waiting)).every(({ reason }) => reason === undefined)).to.equal(true);
    expect(await verifier.verify(token)).to.have.property("principal");
  });

  it("is called again after calls that never end have reached their timeout", async () => {
    let hangs = true;
    const verifier = verifierOf(() => (hangs ? new Promise<undefined>(() => undefined) : rsa), {
      jwksTimeoutSeconds: 0.05,
    });
    const token = forge();
    const found = await Promise.all(Array.from({ length: MOST_CALLS }, async () => verifier.verify(token)));
    expect(found.every(({ reason }) => reason === "keys_unavailable")).to.equal(true);
    hangs = false;
    expect(await verifier.verify(token)).to.have.property("principal");
  });

  it("causes a refusal and a warning when it returns a key whose getter throws", async () => {
    const logger = collectingLogger();
    const key = {
      kty: "EC",
      get crv(): string {
        throw new RangeError("secret text");
      },
    };
    const verifier = verifierOf(returning(key), { logger, audience: "a" });
    expect(await reasonFor(verifier, { claims: { aud: "a" } })).to.equal("unknown_key alg");
    expect(logger.lines[0]?.fields).to.include({ fault: "cannot be read: one of its getters throws" });
    expect(JSON.stringify(logger.lines)).to.not.include("secret text");
  });

  it("receives no __proto__ member of the header, at any depth", async () => {
    const seen: object[] = [];
    const verifier = verifierOf((header) => {
      seen.push(header);
      return rsa;
    });
    const nested = `${"[".repeat(2_500)}{"__proto__":{"admin":true}}${"]".repeat(2_500)}`;
    const rawHeader = `{"alg":"RS256","__proto__":{"admin":true},"x":{"__proto__":{"admin":true}},"y":${nested}}`;
    expect(await reasonFor(verifier, { rawHeader })).to.equal("accepted");
    const text = JSON.stringify(seen[0]);
    expect(text).to.include('"alg":"RS256"').and.not.include("admin");
    expect(Object.assign({}, seen[0])).to.not.have.property("admin");
  });

  it("may return a set that contains one key twice, for a token with or without kid (KEY-11)", async () => {
    const key = jwkOf("rsa2048", { kid: "a" });
    const verifier = verifierOf(returning({ keys: [key, key] }));
    for (const kid of ["a", undefined])
      expect(await reasonFor(verifier, { header: { kid } })).to.equal("accepted");
  });

  it("cannot provide a public key as an HMAC secret (AUTH-5, AUTH-32)", async () => {
    const pem = pemOf("rsa2048");
    const asSecret = createSecretKey(Buffer.from(pem));
    const forgery = { algorithm: "HS256", key: asSecret } as const;
    for (const value of [pem, rsa, asSecret, Buffer.from(pem), jwkOf("rsa2048"), "s".repeat(32)]) {
      const verifier = verifierOf(returning(value), { algorithms: ["HS256"] });
      expect(await reasonFor(verifier, forgery)).to.match(/^unknown_key /);
    }
  });

  it("cannot provide an HMAC secret of less than 32 bytes in prod, the default env, and can in local (AUTH-31)", async () => {
    const algorithms = ["HS256"] as const;
    for (const [bytes, env, expected] of [
      [31, undefined, "unknown_key alg"],
      [31, "prod", "unknown_key alg"],
      [32, "prod", "accepted"],
      [31, "local", "accepted"],
    ] as const) {
      const secret = createSecretKey(Buffer.from("x".repeat(bytes)));
      const verifier = verifierOf(() => secret, { algorithms, env, audience: "a" });
      const forgery = { algorithm: "HS256", key: secret, claims: { aud: "a" } } as const;
      expect(await reasonFor(verifier, forgery), `${bytes} bytes in ${env}`).to.equal(expected);
    }
  });

  it("causes a refusal and a warning when it returns a value that cannot verify tokens", async () => {
    const { privateKey } = keyFixture("rsa2048");
    const secrets = [privateKey.export({ type: "pkcs8", format: "pem" }).toString(), "a secret text"];
    for (const [value, expected] of [
      [privateKey, "is a private key"],
      [secrets[0], "is a private key"],
      [privateKey.export({ format: "jwk" }), "is a private key"],
      [secrets[1], "must be one PEM"],
      [{ kty: "oct", k: "AAAA" }, "is a shared secret"],
      [{ kty: "RSA" }, "is not a public JWK for signatures"],
      [7, "must be a KeyObject, a CryptoKey, a JWK, a JWK set or a PEM"],
      [{ keys: [] }, "is a JWK set without a usable key"],
    ] as const) {
      const logger = collectingLogger();
      const verifier = verifierOf(returning(value), { logger, audience: "a" });
      const forgery = { claims: { aud: "a" } };
      expect(await reasonFor(verifier, forgery)).to.equal("unknown_key alg");
      expect(await reasonFor(verifier, forgery)).to.equal("unknown_key alg");
      expect(logger.lines).to.have.length(1);
      const [line] = logger.lines;
      expect(line).to.include({
        level: "warn",
        message: "the function `keys` returned a value that cannot verify tokens",
      });
      expect(line?.fields).to.have.property("fault").that.includes(expected);
      for (const secret of secrets)
        expect(JSON.stringify(line)).to.not.include(secret?.slice(30, 60) || secret);
    }
  });

  it("may return a string only as a PEM, and not as the JSON of a JWK, even if that JWK was returned before", async () => {
    const { kty, n, e } = rsa.export({ format: "jwk" });
    let key: VerificationKey = { kty: kty ?? "", n: n ?? "", e: e ?? "" };
    const verifier = verifierOf(() => key);
    expect(await reasonFor(verifier)).to.equal("accepted");
    key = JSON.stringify(key);
    expect(await reasonFor(verifier)).to.equal("unknown_key alg");
  });

  it("may return a set, whose key is chosen by kid; other kids are refused", async () => {
    const keys = [jwkOf("rsa2048", { kid: "a" }), jwkOf("p256", { kid: "b" })];
    const verifier = verifierOf(returning({ keys }));
    const said = [];
    for (const kid of ["a", "b", "c", undefined]) said.push(await reasonFor(verifier, { header: { kid } }));
    // Only one of the keys fits RS256, so a token without a kid is for this key (KEY-11).
    expect(said).to.eql(["accepted", "unknown_key alg", "unknown_key kid", "accepted"]);
  });

  it("causes a refusal and one warning when it throws, rejects or does not answer in time", async () => {
    const failing: readonly (readonly [string | undefined, KeyFunction])[] = [
      [
        "TypeError",
        () => {
          throw new TypeError("secret text");
        },
      ],
      ["RangeError", async () => Promise.reject(new RangeError("secret text"))],
      ["DeadlineError", () => new Promise<undefined>(() => undefined)],
      [undefined, async () => Promise.reject(Object.assign(new Error("x"), { name: "secret text" }))],
      ["Error", async () => Promise.reject(Object.assign(new Error("x"), { code: "secret text" }))],
      [undefined, async () => Promise.reject(new UnreadableError())],
    ];
    for (const [error, keys] of failing) {
      const logger = collectingLogger();
      const verifier = verifierOf(keys, { logger, audience: "a", jwksTimeoutSeconds: 0.05 });
      const forgery = { claims: { aud: "a" } };
      expect(await reasonFor(verifier, forgery)).to.equal("keys_unavailable ");
      expect(await reasonFor(verifier, forgery)).to.equal("keys_unavailable ");
      expect(logger.lines).to.have.length(1);
      expect(logger.lines[0]).to.include({ message: "the function `keys` failed; tokens are refused" });
      expect(logger.lines.map(({ fields }) => (fields as { error?: string }).error)).to.eql([error]);
      expect(JSON.stringify(logger.lines)).to.not.include("secret text");
    }
  });

  it("is identified in the warning by its issuer, without secrets, if there are several issuers", async () => {
    const logger = collectingLogger();
    const failing = (issuer: string) => ({
      issuer,
      audience: "a",
      keys: (): never => {
        throw new RangeError();
      },
    });
    const secretive = "https://user:password@b.example/?key=secret";
    const issuers = [failing("https://a.example"), failing(secretive)];
    const { verifier } = jwtAuth({ issuers, logger, now });
    for (const { issuer } of issuers)
      expect(await reasonFor(verifier, { claims: { iss: issuer, aud: "a" } })).to.equal("keys_unavailable ");
    expect(logger.lines.map(({ fields }) => fields)).to.eql([
      { issuer: "https://a.example", error: "RangeError", suppressed: 0 },
      { issuer: "https://b.example/", error: "RangeError", suppressed: 0 },
    ]);
  });

  it("refuses a token that expires while the function is running (AUTH-8)", async () => {
    let seconds = now() / 1000;
    const keys: KeyFunction = async () => {
      seconds += 3_600;
      return rsa;
    };
    const verifier = createVerifier({ keys, now: () => seconds * 1000 });
    expect(await reasonFor(verifier)).to.equal("expired exp");
  });

  it("cannot change the verified header through its argument", async () => {
    const verifier = verifierOf((header) => {
      Object.assign(header, { alg: "HS256", kid: "other" });
      return jwkOf("rsa2048", { kid: "k" }) as VerificationKey;
    });
    expect(await reasonFor(verifier, { header: { kid: "k" } })).to.equal("accepted");
    expect(await reasonFor(verifier, { header: { kid: "other" } })).to.equal("unknown_key kid");
  });

  for (const stack of ["bare http", "express 4", "express 5"] as const) {
    it(`gives a guard the caller, and logs a refused token (${stack}, AUTH-11, AUTH-12)`, async () => {
      const logger = collectingLogger();
      const named: Readonly<Record<string, KeyName>> = { good: "rsa2048", bad: "p256" };
      const auth = jwtAuth({
        keys: async ({ kid = "" }) => {
          const name = named[kid];
          if (name === undefined) throw new Error("no such key");
          return keyFixture(name).publicKey;
        },
        audience: "orders",
        logger,
        now,
      });
      await using server = await serve(stack, [auth], { "/closed": [requireAuth()] });
      const answers = [];
      for (const kid of ["good", "bad", "missing"]) {
        const token = forge({ header: { kid }, claims: { aud: "orders" } });
        const { status, body } = await ask(`${server.url}/closed`, bearer(token));
        answers.push([status, body.caller]);
      }
      expect(answers).to.eql([
        [200, "ada"],
        [401, undefined],
        [401, undefined],
      ]);
      expect(logger.at("info")).to.eql(["bearer token refused", "bearer token refused"]);
      const reasons = logger.lines.filter(({ level }) => level === "info").map(({ fields }) => fields);
      expect(reasons[0]).to.include({ reason: "unknown_key", at: "alg" });
      expect(reasons[1]).to.include({ reason: "keys_unavailable" });
    });
  }
});
