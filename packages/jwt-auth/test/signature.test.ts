import { type Algorithm, algorithms, createVerifier, type KeySource } from "@svc/jwt-auth";
import { expect } from "chai";
import {
  constants,
  createHash,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from "node:crypto";
import { keyFault } from "../src/key-check.ts";
import { everyKey } from "./support/fixed-keys.ts";
import { base64url, forge, now, partsOf } from "./support/forge.ts";
import { keyFixture, keyFor, type KeyName } from "./support/key-fixtures.ts";
import { thrownBy } from "./support/verifying.ts";

/** Returns a source with one key for any kid and algorithm. */
function only(key: KeyObject): KeySource {
  return { generation: 0, find: () => key };
}

/** Returns the fixture RSA key with the given members of its JWK replaced. */
function publicRsa(numbers: { readonly n?: string; readonly e?: string }): KeyObject {
  const key = { ...keyFixture("rsa2048").publicKey.export({ format: "jwk" }), ...numbers };
  return createPublicKey({ key, format: "jwk" });
}

function signatureRefused(algorithm: Algorithm, signature: (bytes: Buffer) => Uint8Array): Promise<void> {
  return refusedBy(everyKey(), algorithm, forge({ algorithm, signature }), "signature");
}

async function refusedBy(
  keys: KeySource,
  algorithm: Algorithm,
  token: string,
  reason: string,
): Promise<void> {
  for (const useThreadPool of [true, false]) {
    const verifier = createVerifier({ keys, algorithms: [algorithm], now, useThreadPool });
    expect(await verifier.verify(token), algorithm).to.have.property("reason", reason);
    expect(verifier.cachedTokens).to.equal(0);
  }
}

const ecdsa = ["ES256", "ES384", "ES512"] as const;
const rsa = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] as const;

describe("signatures", () => {
  for (const algorithm of algorithms) {
    it(`are accepted for ${algorithm} only if every bit, the length and the key are right (AUTH-26)`, async () => {
      const token = forge({ algorithm });
      for (const useThreadPool of [true, false]) {
        const verifier = createVerifier({ keys: everyKey(), algorithms: [algorithm], now, useThreadPool });
        expect(await verifier.verify(token)).to.have.nested.property("principal.subject", "ada");
      }
      await signatureRefused(algorithm, (bytes) => bytes.with(0, (bytes[0] ?? 0) ^ 1));
      await signatureRefused(algorithm, (bytes) => bytes.with(-1, (bytes.at(-1) ?? 0) ^ 0x80));
      await signatureRefused(algorithm, (bytes) => bytes.subarray(1));
      await signatureRefused(algorithm, (bytes) => bytes.subarray(0, -1));
      await signatureRefused(algorithm, (bytes) => Buffer.concat([bytes, Buffer.alloc(1)]));
      await signatureRefused(algorithm, (bytes) => Buffer.alloc(bytes.length));
      await signatureRefused(algorithm, () => Buffer.alloc(1));
      const [header, , signature] = partsOf(token);
      const [, payload] = partsOf(forge({ algorithm, claims: { sub: "eve" } }));
      await refusedBy(everyKey(), algorithm, `${header}.${payload}.${signature}`, "signature");
    });
  }

  for (const algorithm of ecdsa) {
    it(`have a fixed length for ${algorithm}, and DER is refused (AUTH-26)`, async () => {
      const { privateKey } = keyFor(algorithm);
      const [header, payload] = partsOf(forge({ algorithm }));
      const der = sign(`sha${algorithm.slice(2)}`, Buffer.from(`${header}.${payload}`), privateKey);
      await refusedBy(
        everyKey(),
        algorithm,
        `${header}.${payload}.${der.toString("base64url")}`,
        "signature",
      );
    });
  }

  it("are refused if their PSS salt is not as long as the hash (AUTH-26)", async () => {
    const { privateKey: key } = keyFor("PS256");
    const [header, payload] = partsOf(forge({ algorithm: "PS256" }));
    const signed = Buffer.from(`${header}.${payload}`);
    const withSalt = (saltLength: number): string => {
      const padding = constants.RSA_PKCS1_PSS_PADDING;
      return `${header}.${payload}.${sign("sha256", signed, { key, padding, saltLength }).toString("base64url")}`;
    };
    const verifier = createVerifier({ keys: everyKey(), algorithms: ["PS256"], now });
    expect(verifier.verify(withSalt(32))).to.have.property("principal");
    for (const length of [0, 20, 64]) await refusedBy(everyKey(), "PS256", withSalt(length), "signature");
  });

  for (const algorithm of ["PS256", "PS384", "PS512"] as const) {
    it(`are refused for ${algorithm} without their leading zero (AUTH-26)`, async () => {
      let token = "";
      // Sign until the signature begins with a zero: because of its random salt, one in 256 does.
      const beginsWithZero = (): boolean => Buffer.from(partsOf(token)[2] ?? "", "base64url")[0] === 0;
      do token = forge({ algorithm });
      while (!beginsWithZero());
      const [header, payload, signature] = partsOf(token);
      const verifier = createVerifier({ keys: everyKey(), algorithms: [algorithm], now });
      expect(verifier.verify(token)).to.have.property("principal");
      const shorter = Buffer.from(signature, "base64url").subarray(1).toString("base64url");
      await refusedBy(everyKey(), algorithm, `${header}.${payload}.${shorter}`, "signature");
    });
  }

  it("are refused with the key of another algorithm (AUTH-3)", async () => {
    for (const [signed, listed] of [
      ["RS256", "PS256"],
      ["PS256", "RS256"],
      ["RS256", "RS512"],
    ] as const) {
      const token = forge({ algorithm: signed, header: { alg: listed } });
      await refusedBy(everyKey(), listed, token, "signature");
      await refusedBy(everyKey(), listed, forge({ algorithm: signed }), "algorithm_not_allowed");
    }
  });

  it("are checked synchronously for HMAC and RSA, and in the thread pool for curves with useThreadPool (AUTH-3)", async () => {
    for (const algorithm of algorithms) {
      const curve = algorithm.startsWith("E");
      for (const useThreadPool of [true, false]) {
        const verifier = createVerifier({ keys: everyKey(), algorithms: [algorithm], now, useThreadPool });
        const first = verifier.verify(forge({ algorithm }));
        expect(first instanceof Promise, algorithm).to.equal(curve && useThreadPool);
        expect(await first).to.have.property("principal");
      }
    }
  });
});

describe("createVerifier() with a key that does not fit", () => {
  function wrongFor(algorithm: Algorithm): readonly KeyName[] {
    if (algorithm.startsWith("HS")) return ["rsa2048", "p256", "ed25519"];
    if (algorithm === "ES256") return ["p384", "p521", "secp256k1", "rsa2048", "ed25519", "secret"];
    if (algorithm === "ES384") return ["p256", "p521", "rsa2048", "secret"];
    if (algorithm === "ES512") return ["p256", "p384", "rsa2048", "secret"];
    if (algorithm === "EdDSA") return ["ed448", "p256", "rsa2048", "secret"];
    return ["rsa1024", "p256", "ed25519", "secret"];
  }

  for (const algorithm of algorithms) {
    it(`refuses ${algorithm} with a key of another type, curve or size (AUTH-25, AUTH-26)`, async () => {
      for (const name of wrongFor(algorithm)) {
        const { publicKey } = keyFixture(name);
        expect(keyFault(publicKey, algorithm), name).to.be.a("string");
        await refusedBy(only(publicKey), algorithm, forge({ algorithm }), "unknown_key");
      }
      expect(keyFault(keyFor(algorithm).publicKey, algorithm)).to.equal(undefined);
    });
  }

  it("refuses a correct signature made with an RSA key of 1,024 bits (AUTH-25)", async () => {
    const { privateKey: key, publicKey } = keyFixture("rsa1024");
    for (const algorithm of ["RS256", "PS256"] as const) {
      expect(keyFault(publicKey, algorithm)).to.contain("2048 bits; this one has 1024");
      await refusedBy(only(publicKey), algorithm, forge({ algorithm, key }), "unknown_key");
    }
  });

  it("refuses an RSA key with exponent 1, with which every message is its own signature (AUTH-25)", async () => {
    const key = publicRsa({ e: "AQ" });
    expect(keyFault(key, "RS256")).to.contain("odd public exponent of at least 3");
    // With exponent 1, the signature is the padded hash itself.
    const unsigned = partsOf(forge()).slice(0, 2).join(".");
    const info = Buffer.from("3031300d060960864801650304020105000420", "hex");
    const digest = createHash("sha256").update(unsigned).digest();
    const filling = Buffer.alloc(256 - 3 - info.length - digest.length, 0xff);
    const padded = Buffer.concat([Buffer.of(0, 1), filling, Buffer.of(0), info, digest]);
    await refusedBy(only(key), "RS256", `${unsigned}.${base64url(padded)}`, "unknown_key");
  });

  it("refuses an RSA key with an even exponent or too many bits, for every algorithm (AUTH-25)", () => {
    for (const e of ["BA", "AQAC"]) {
      for (const algorithm of rsa) expect(keyFault(publicRsa({ e }), algorithm)).to.contain("odd");
    }
    expect(keyFault(publicRsa({ e: "Aw" }), "RS256")).to.equal(undefined);
    const long = (bytes: number): string => base64url(Buffer.alloc(bytes, 0xff));
    expect(keyFault(publicRsa({ n: long(2048) }), "RS256")).to.equal(undefined);
    expect(keyFault(publicRsa({ n: long(2049) }), "RS256")).to.contain("16384 bits; this one has 16392");
  });

  it("refuses a private key (AUTH-26)", async () => {
    for (const algorithm of ["RS256", "ES256", "EdDSA"] as const) {
      expect(keyFault(keyFor(algorithm).privateKey, algorithm)).to.contain("not a private key");
      await refusedBy(only(keyFor(algorithm).privateKey), algorithm, forge({ algorithm }), "unknown_key");
    }
  });

  it("refuses a key of type rsa-pss, which may be restricted to another hash (AUTH-26)", () => {
    const { publicKey } = generateKeyPairSync("rsa-pss", { modulusLength: 2048, hashAlgorithm: "sha512" });
    for (const algorithm of rsa) expect(keyFault(publicKey, algorithm)).to.contain("type rsa, not rsa-pss");
  });

  it("refuses an empty secret (AUTH-32)", async () => {
    const empty = createSecretKey(Buffer.alloc(0));
    expect(keyFault(empty, "HS256")).to.equal("the secret is empty");
    const token = forge({ algorithm: "HS256", key: empty });
    await refusedBy(only(empty), "HS256", token, "unknown_key");
  });

  it("refuses a public key as a secret, in any encoding (AUTH-3)", async () => {
    const { publicKey } = keyFor("RS256");
    const spki = publicKey.export({ type: "spki", format: "pem" }).toString();
    for (const text of [spki, spki.trim(), JSON.stringify(publicKey.export({ format: "jwk" }))]) {
      const key = createSecretKey(Buffer.from(text));
      const token = forge({ algorithm: "HS256", key });
      await refusedBy(only(createPublicKey(spki)), "RS256", token, "algorithm_not_allowed");
      await refusedBy(only(createPublicKey(spki)), "HS256", token, "unknown_key");
    }
  });

  it("refuses a value from the source that is not a key", async () => {
    for (const answer of ["", "secret", {}, 7, null]) {
      const keys = { generation: 0, find: () => answer } as object as KeySource;
      await refusedBy(keys, "HS256", forge({ algorithm: "HS256" }), "unknown_key");
    }
    expect(thrownBy(() => createVerifier({ keys: {} as KeySource })).message).to.contain("keys");
  });
});
