import { createSecretKey, type KeyObject, subtle, type webcrypto } from "node:crypto";
import {
  createVerifier,
  jwtAuth,
  type JwtAuthOptions,
  type Verifier,
  type VerifierOptions,
} from "@svc/jwt-auth";
import { ConfigurationError } from "@svc/options";
import { expect } from "chai";
import type { Algorithm } from "../src/algorithms.ts";
import { certificateOf } from "./support/certificate.ts";
import { forge, type Forgery, now } from "./support/forge.ts";
import { jwkOf } from "./support/issuer.ts";
import { type KeyName, keyFixture, keyFor, pemOf } from "./support/key-fixtures.ts";
import { thrownBy } from "./support/verifying.ts";

const factories: readonly (readonly [string, (options: object) => Verifier])[] = [
  ["jwtAuth()", (options) => jwtAuth({ ...options, now } as JwtAuthOptions).verifier],
  ["createVerifier()", (options) => createVerifier({ ...options, now } as VerifierOptions)],
];

const publicOf = (name: KeyName): KeyObject => keyFixture(name).publicKey;

/** Returns the public half of a fixture as a CryptoKey. */
async function cryptoKeyOf(
  name: KeyName,
  algorithm: webcrypto.RsaHashedImportParams | webcrypto.EcKeyImportParams | "Ed25519",
  extractable = true,
): Promise<webcrypto.CryptoKey> {
  const spki = publicOf(name).export({ type: "spki", format: "der" });
  return subtle.importKey("spki", spki, algorithm, extractable, ["verify"]);
}

/** Returns a public JWK without kid. */
function bareJwk(name: KeyName, members: object = {}): object {
  return { ...publicOf(name).export({ format: "jwk" }), ...members };
}

async function reasonFor(verifier: Verifier, forgery: Forgery): Promise<string> {
  const { reason, at } = { at: "", ...(await verifier.verify(forge(forgery))) };
  return reason === undefined ? "accepted" : `${reason} ${at}`;
}

for (const [name, make] of factories) {
  describe(`the option keys of ${name}`, () => {
    function faultsOf(options: object): readonly string[] {
      const error = thrownBy(() => make(options));
      if (!(error instanceof ConfigurationError)) throw error;
      expect(error.message).to.include(`${name} is configured wrongly`);
      return error.faults.map(({ key, message }) => `${key}: ${message}`);
    }

    function faultOf(keys: unknown, options: object = {}): string {
      const faults = faultsOf({ keys, ...options });
      expect(faults).to.have.length(1);
      return faults[0] ?? "";
    }

    it("accepts every form of a key, and verifies tokens of any kid with it (AUTH-2)", async () => {
      const forms: readonly (readonly [string, unknown, Algorithm])[] = [
        ["KeyObject", publicOf("rsa2048"), "RS256"],
        ["CryptoKey", await cryptoKeyOf("p384", { name: "ECDSA", namedCurve: "P-384" }), "ES384"],
        ["JWK", bareJwk("ed25519"), "EdDSA"],
        ["PEM", pemOf("rsa2048"), "RS256"],
        ["PEM with escaped line ends", pemOf("p256").replaceAll("\n", "\\n"), "ES256"],
        ["certificate", certificateOf("rsa2048"), "RS256"],
        ["secret", keyFixture("secret").publicKey, "HS256"],
      ];
      for (const [form, keys, algorithm] of forms) {
        const verifier = make({ keys });
        expect(verifier.algorithms, form).to.eql([algorithm]);
        for (const kid of [undefined, "any"]) {
          expect(await reasonFor(verifier, { algorithm, header: { kid } }), form).to.equal("accepted");
        }
        const others = {
          RS: "otherRsa2048",
          ES: "otherP256",
          Ed: "otherEd25519",
          HS: "otherSecret",
        } as const;
        const key = keyFixture(others[algorithm.slice(0, 2) as keyof typeof others]).privateKey;
        const stranger = { algorithm, key };
        if (algorithm !== "ES384") expect(await reasonFor(verifier, stranger)).to.equal("signature ");
      }
    });

    it("uses a key for every configured algorithm that it fits (AUTH-3, AUTH-26)", async () => {
      const algorithms = ["RS256", "RS512", "PS384"] as const;
      for (const keys of [publicOf("rsa2048"), pemOf("rsa2048"), bareJwk("rsa2048")]) {
        const verifier = make({ keys, algorithms });
        for (const algorithm of algorithms)
          expect(await reasonFor(verifier, { algorithm })).to.equal("accepted");
        expect(await reasonFor(verifier, { algorithm: "RS384" })).to.equal("algorithm_not_allowed alg");
      }
    });

    it("uses a CryptoKey only for the algorithm that it was made for (AUTH-26)", async () => {
      const pss = await cryptoKeyOf("rsa2048", { name: "RSA-PSS", hash: "SHA-512" });
      expect(make({ keys: pss }).algorithms).to.eql(["PS512"]);
      expect(await reasonFor(make({ keys: pss }), { algorithm: "PS512" })).to.equal("accepted");
      expect(faultOf(pss, { algorithms: ["RS256"] })).to.equal(
        "keys: does not fit the algorithms: the key is not for RS256; the key fits PS512",
      );
      const curve = await cryptoKeyOf("ed25519", "Ed25519");
      expect(await reasonFor(make({ keys: curve }), { algorithm: "EdDSA" })).to.equal("accepted");
    });

    it("uses a JWK only for its alg and kid (KEY-11, AUTH-26)", async () => {
      const verifier = make({ keys: bareJwk("rsa2048", { alg: "PS256", kid: "mine" }) });
      expect(verifier.algorithms).to.eql(["PS256"]);
      const said = await Promise.all(
        [undefined, "mine", "other"].map((kid) =>
          reasonFor(verifier, { algorithm: "PS256", header: { kid } }),
        ),
      );
      expect(said).to.eql(["accepted", "accepted", "unknown_key kid"]);
      expect(faultOf(bareJwk("rsa2048", { alg: "PS256" }), { algorithms: ["RS256"] })).to.equal(
        "keys: does not fit the algorithms: the key is not for RS256; the key fits PS256",
      );
    });

    it("finds the key of a JWK set by kid and algorithm, and skips keys for encryption (KEY-11, KEY-12)", async () => {
      const keys = [
        jwkOf("rsa2048", { kid: "a" }),
        jwkOf("p256", { kid: "b" }),
        jwkOf("otherRsa2048", { kid: "c", use: "enc" }),
      ];
      const verifier = make({ keys: { keys } });
      expect(verifier.algorithms).to.eql(["RS256", "ES256"]);
      const rs = (kid: string | undefined, key?: KeyName) =>
        reasonFor(verifier, { header: { kid }, ...(key && { key: keyFixture(key).privateKey }) });
      expect(await Promise.all([rs("a"), rs("b"), rs("c", "otherRsa2048"), rs(undefined)])).to.eql([
        "accepted",
        "unknown_key kid",
        "unknown_key kid",
        "unknown_key kid",
      ]);
      expect(await reasonFor(verifier, { algorithm: "ES256", header: { kid: "b" } })).to.equal("accepted");
      const alone = make({ keys: { keys: keys.slice(0, 1) } });
      expect(await reasonFor(alone, {})).to.equal("accepted");
    });

    it("rejects a JWK set with more than 64 keys for the algorithms, because it uses at most 64 (KEY-12)", async () => {
      const keys = Array.from({ length: 65 }, (_, index) => jwkOf("p256", { kid: `${index}` }));
      const fault = "keys: has more than 64 keys for the algorithms; remove those that are not in use";
      expect(faultOf({ keys })).to.equal(fault);
      expect(faultOf({ keys }, { algorithms: ["ES256"] })).to.equal(fault);
      const verifier = make({ keys: { keys: keys.slice(0, 64) } });
      expect(await reasonFor(verifier, { algorithm: "ES256", header: { kid: "63" } })).to.equal("accepted");
    });

    it("uses a key for the configured algorithms that follows 64 other keys in a JWK set (KEY-12)", async () => {
      const others = Array.from({ length: 64 }, (_, index) => jwkOf("rsa2048", { kid: `${index}` }));
      const keys = { keys: [...others, jwkOf("p256", { kid: "last" })] };
      const verifier = make({ keys, algorithms: ["ES256"] });
      expect(await reasonFor(verifier, { algorithm: "ES256", header: { kid: "last" } })).to.equal("accepted");
    });

    it("accepts a JWK with the alg Ed25519, as Node.js exports it", async () => {
      const jwk = bareJwk("ed25519", { alg: "Ed25519", kid: "1" });
      for (const keys of [jwk, { keys: [jwk] }]) {
        const verifier = make({ keys });
        expect(verifier.algorithms).to.eql(["EdDSA"]);
        expect(await reasonFor(verifier, { algorithm: "EdDSA", header: { kid: "1" } })).to.equal("accepted");
      }
      expect(faultOf(bareJwk("p256", { alg: "Ed25519" }))).to.match(/^keys: is not a public JWK/);
    });

    it("does not show an invalid value in the error, because it may be a private key", () => {
      const pem = keyFixture("p256").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
      const fault = faultOf([pem]);
      expect(fault).to.match(/^keys: must be a key source .* \(the value is not shown\)$/);
      expect(fault).to.not.include("PRIVATE KEY");
    });

    it("rejects a key whose getter throws, without showing the message of the thrown error", () => {
      const throwing = {
        kty: "EC",
        get crv(): string {
          throw new RangeError("secret text");
        },
      };
      for (const keys of [throwing, { keys: [throwing] }])
        expect(faultOf(keys)).to.equal("keys: cannot be read: one of its getters throws");
    });

    it("rejects algorithms that the key does not fit, and names those that it fits (AUTH-5, AUTH-26)", () => {
      for (const [keys, algorithms, expected] of [
        [
          publicOf("rsa2048"),
          ["HS256"],
          /^keys: .*HS256 needs a secret, not a public key; the key fits RS256/,
        ],
        [pemOf("rsa2048"), ["HS256"], /^keys: .*HS256 needs a secret/],
        [bareJwk("rsa2048"), ["HS256"], /^keys: .*HS256 needs a secret/],
        [publicOf("p256"), ["RS256"], /^keys: .*RS256 needs a key of type rsa, not ec; the key fits ES256$/],
        [
          publicOf("secret"),
          ["RS256"],
          /^keys: .*RS256 needs a public key, not a secret key; the key fits HS/,
        ],
        [{ keys: [jwkOf("rsa2048")] }, ["RS256", "ES256"], /^keys: has no key for ES256; its keys fit RS256/],
        [{ keys: [jwkOf("rsa2048")] }, ["HS256"], /^keys: has no key for HS256/],
        [publicOf("rsa2048"), ["RS256", "HS256"], /^algorithms: mixes the symmetric HS256/],
        [publicOf("rsa2048"), ["none"], /^algorithms: must not contain "none"/],
      ] as const) {
        expect(faultOf(keys, { algorithms })).to.match(expected);
      }
    });

    it("rejects RSA keys that are short or have an unsafe exponent, and keys of other types (AUTH-25)", () => {
      const unsafe = bareJwk("rsa2048", { e: "AQ" });
      for (const [keys, expected] of [
        [publicOf("rsa1024"), /at least 2048 bits; this one has 1024; use another key$/],
        [pemOf("rsa1024"), /at least 2048 bits/],
        [bareJwk("rsa1024"), /at least 2048 bits/],
        [unsafe, /odd public exponent of at least 3; use another key$/],
        [publicOf("ed448"), /RS256 needs a key of type rsa, not ed448; use another key$/],
        [{ keys: [jwkOf("rsa1024"), unsafe] }, /^keys: is a JWK set without a usable key$/],
        [{ keys: [] }, /^keys: is a JWK set without a usable key$/],
        [{ keys: "x" }, /^keys: must be a JWK set: its member keys must be a list$/],
        [bareJwk("p256", { use: "enc" }), /^keys: is not a public JWK for signatures/],
        [bareJwk("p256", { key_ops: ["sign"] }), /^keys: is not a public JWK for signatures/],
        [bareJwk("p256", { x: "AAAA" }), /^keys: is not a public JWK for signatures/],
        [bareJwk("ed448"), /^keys: is not a public JWK for signatures/],
      ] as const) {
        expect(faultOf(keys)).to.match(expected);
      }
    });

    it("rejects private keys in every form, and does not show them", async () => {
      const { privateKey } = keyFixture("p256");
      const jwk = privateKey.export({ format: "jwk" });
      const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
      const algorithm = { name: "ECDSA", namedCurve: "P-256" };
      const { privateKey: cryptoKey } = await subtle.generateKey(algorithm, false, ["sign", "verify"]);
      for (const keys of [privateKey, jwk, pem, cryptoKey, { keys: [jwkOf("p384"), jwk] }]) {
        const fault = faultOf(keys, { algorithms: ["ES256"] });
        expect(fault).to.match(/^keys: (is|contains) a private key; set the public key, and keep/);
        expect(fault).to.not.include(pem.slice(40, 60)).and.not.include(String(jwk.d));
      }
    });

    it("accepts a JWK whose private members are undefined, since JSON omits them", () => {
      const { publicKey } = keyFixture("p256");
      const jwk = { ...publicKey.export({ format: "jwk" }), d: undefined, k: undefined };
      for (const keys of [jwk, { keys: [jwk] }] as const)
        expect(make({ keys, algorithms: ["ES256"] }).algorithms).to.eql(["ES256"]);
    });

    it("accepts a secret only as a KeyObject, under the rules of the option secret (AUTH-31, AUTH-32)", async () => {
      const bytes = keyFixture("secret").publicKey.export();
      const hmac = { name: "HMAC", hash: "SHA-256" };
      const cryptoKey = await subtle.importKey("raw", bytes, hmac, true, ["verify"]);
      const jwk = { kty: "oct", k: bytes.toString("base64url") };
      const algorithms = ["HS256"];
      for (const keys of [cryptoKey, jwk, { keys: [jwk] }]) {
        const fault = faultOf(keys, { algorithms });
        expect(fault).to.match(/^keys: (is|contains) a shared secret; use a KeyObject of type secret$/);
        expect(fault).to.not.include(jwk.k);
      }
      expect(faultOf("a secret of at least 32 bytes, not in code", { algorithms })).to.match(
        /^keys: must be one PEM, from -----BEGIN to -----END, and nothing else$/,
      );
      const secretOf = (text: string) => createSecretKey(Buffer.from(text));
      expect(faultOf(secretOf("x".repeat(31)))).to.match(/^keys: has 31 bytes; in prod .*32/);
      expect(faultOf(secretOf(pemOf("rsa2048")), { algorithms })).to.match(/^keys: is a PEM, not a shared/);
      expect(faultOf(secretOf(JSON.stringify(bareJwk("p256"))))).to.match(/^keys: is a JSON Web Key, not/);
      expect(make({ keys: keyFixture("secret").publicKey, algorithms: ["HS512"] }).algorithms).to.eql([
        "HS512",
      ]);
    });

    it("rejects a CryptoKey that is not extractable or was made for another purpose", async () => {
      expect(faultOf(await cryptoKeyOf("ed25519", "Ed25519", false))).to.equal(
        "keys: is a CryptoKey that is not extractable; import it with extractable: true",
      );
      const spki = publicOf("rsa2048").export({ type: "spki", format: "der" });
      const oaep = { name: "RSA-OAEP", hash: "SHA-256" };
      const encrypting = await subtle.importKey("spki", spki, oaep, true, ["encrypt"]);
      expect(faultOf(encrypting)).to.equal("keys: is a CryptoKey without the usage verify");
      const sha1 = await cryptoKeyOf("rsa2048", { name: "RSASSA-PKCS1-v1_5", hash: "SHA-1" });
      expect(faultOf(sha1)).to.match(
        /^keys: does not fit the algorithms: the key is not for RS256; use another/,
      );
    });

    it("rejects a value that is not a key, and lists the accepted forms", () => {
      for (const keys of [7, {}, [], Buffer.from("x"), true]) {
        expect(faultOf(keys)).to.match(/must be a key source .*, a JWK set, a PEM/);
      }
    });
  });
}

describe("jwtAuth() with a key", () => {
  it("accepts a short secret as a KeyObject outside prod (AUTH-31)", () => {
    const keys = createSecretKey(Buffer.from("x".repeat(31)));
    expect(jwtAuth({ keys, env: "staging" }).verifier.algorithms).to.eql(["HS256"]);
  });

  it("rejects a second key option (AUTH-2)", () => {
    const options = { keys: publicOf("rsa2048"), secret: "s".repeat(32) };
    expect(() => jwtAuth(options)).to.throw(ConfigurationError, "secret, keys: cannot be combined");
  });

  it("reports in its readiness check that the keys are configured, and still accepts tokens after stop()", async () => {
    const auth = jwtAuth({ keys: keyFor("RS256").publicKey, now });
    const found = await auth.readiness().check(new AbortController().signal);
    expect(found).to.include({ healthy: true, detail: "the keys are configured" });
    auth.stop();
    expect(await auth.verifier.verify(forge())).to.have.property("principal");
  });

  it("caches verified tokens", async () => {
    const { verifier } = jwtAuth({ keys: keyFor("RS256").publicKey, now });
    const token = forge();
    expect(await verifier.verify(token)).to.equal(await verifier.verify(token));
    expect(verifier.cachedTokens).to.equal(1);
  });
});
