import { createPublicKey, createSecretKey, type KeyObject } from "node:crypto";
import { expect } from "chai";
import { calculateJwkThumbprint } from "jose";
import { algorithms, createPemSource, createVerifier } from "@svc/jwt-auth";
import { keySetFromJwks, noKeys } from "../src/key-set.ts";
import { signatureCheck } from "../src/signature.ts";
import { certificateOfRfc7517 } from "./rfc/certificate.ts";
import { cookbook } from "./rfc/cookbook.ts";
import { examples } from "./rfc/examples.ts";
import { rfcKeys } from "./rfc/keys.ts";
import { fixedKeys } from "./support/fixed-keys.ts";
import { forge } from "./support/forge.ts";

const asymmetric = algorithms.filter((each) => !each.startsWith("HS"));
/** A time before all examples expire. */
const now = (): number => (1_300_819_380 - 60) * 1000;

describe("createVerifier() with examples from RFCs", () => {
  for (const example of [...examples, ...cookbook]) {
    const { rfc, section, what, signed, algorithm, refused, at, rule, why, token } = example;
    const key = keyOf(example.key);
    const name = `RFC ${rfc} ${section}, ${what}`;

    if (signed !== undefined) {
      it(`verifies the signature, and refuses a changed signature: ${name} (AUTH-26)`, async () => {
        const bytes = Buffer.from(signed.signature, "base64url");
        const other = bytes.map((byte, index) => (index === 7 ? byte ^ 1 : byte));
        for (const inThreadPool of [false, true]) {
          const check = signatureCheck(algorithm, inThreadPool);
          expect(await check(signed.text, bytes, key)).to.equal(true);
          expect(await check(`${signed.text}A`, bytes, key)).to.equal(false);
          expect(await check(signed.text, Buffer.from(other), key)).to.equal(false);
        }
      });
    }

    it(`refuses the token because ${why}: ${name} (${rule})`, async () => {
      const keys = { generation: 0, find: () => key };
      const verifier = createVerifier({ keys, algorithms: [algorithm], now });
      expect(await verifier.verify(token)).to.deep.equal(
        at === undefined ? { reason: refused } : { reason: refused, at },
      );
    });
  }

  it("accepts the claims of RFC 7519 3.1 plus sub and iat, signed with the RFC's key, until they expire (AUTH-9)", async () => {
    const claims = { iss: "joe", exp: 1_300_819_380, "http://example.com/is_root": true };
    const key = keyOf("hmac");
    const token = forge({
      algorithm: "HS256",
      key,
      rawHeader: '{"typ":"JWT",\r\n "alg":"HS256"}',
      rawPayload: JSON.stringify({ ...claims, sub: "joe", iat: 1_300_819_000 }),
    });
    const keys = fixedKeys([{ algorithm: "HS256", key }]);
    const accepted = await createVerifier({ keys, algorithms: ["HS256"], now }).verify(token);
    expect(accepted.principal?.claims).to.deep.include(claims);
    const later = (): number => (1_300_819_380 + 30) * 1000;
    const refused = await createVerifier({ keys, algorithms: ["HS256"], now: later }).verify(token);
    expect(refused).to.deep.equal({ reason: "expired", at: "exp" });
  });
});

describe("keySetFromJwks() with keys from RFCs", () => {
  it("imports the RSA key of RFC 7517 A.1, and skips its EC key for encryption (KEY-12)", async () => {
    const keys = [
      { ...rfcKeys.p256ForEncryption, use: "enc", kid: "1" },
      { ...rfcKeys.rsa7517, alg: "RS256", kid: "2011-04-29" },
    ];
    const set = await keySetFromJwks({ keys }, asymmetric, noKeys);
    expect(set.size).to.equal(1);
    expect(set.find("2011-04-29", "RS256")?.asymmetricKeyDetails?.modulusLength).to.equal(2048);
    expect(set.find("2011-04-29", "RS512"), "its alg is RS256").to.equal(undefined);
    expect(set.find("1", "ES256")).to.equal(undefined);
    expect(await calculateJwkThumbprint(rfcKeys.rsa7517)).to.equal(
      "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs",
    );
  });

  it("skips the private keys of RFC 7517 A.2 and the shared secrets of A.3 (KEY-12)", async () => {
    const keys = [
      { ...rfcKeys.p256ForEncryption, kid: "1", d: "870MB6gfuTJ4HtUnUvYMyJpr5eUZNP4Bk43bVdj3eAE" },
      { ...rfcKeys.hmac, kid: "HMAC key used in JWS spec Appendix A.1 example" },
      { kty: "oct", alg: "A128KW", k: "GawgguFyGrWKav7AX4VKUg" },
      { ...rfcKeys.rsa7517, kid: "good" },
    ];
    const set = await keySetFromJwks({ keys }, asymmetric, noKeys);
    expect(set.size).to.equal(1);
    expect(set.has("good")).to.equal(true);
  });

  it("reads the same key from the certificate of RFC 7517 B as from its JWK (AUTH-2)", async () => {
    const entry = { ...rfcKeys.rsaOfCertificate, use: "sig", kid: "1b94c", x5c: [certificateOfRfc7517] };
    const set = await keySetFromJwks({ keys: [entry] }, asymmetric, noKeys);
    const pem = `-----BEGIN CERTIFICATE-----\n${certificateOfRfc7517}\n-----END CERTIFICATE-----\n`;
    const pinned = createPemSource({ publicKey: pem }).find(undefined, "RS256");
    expect(pinned).to.not.equal(undefined);
    const inSet = set.find("1b94c", "RS256");
    expect(inSet?.export({ format: "jwk" })).to.deep.equal(pinned?.export({ format: "jwk" }));
  });

  it("uses the key of RFC 8037 A.2 for EdDSA only (AUTH-26)", async () => {
    const set = await keySetFromJwks({ keys: [{ ...rfcKeys.ed25519, kid: "ed" }] }, asymmetric, noKeys);
    expect(asymmetric.filter((each) => set.find("ed", each) !== undefined)).to.deep.equal(["EdDSA"]);
    expect(await calculateJwkThumbprint(rfcKeys.ed25519)).to.equal(
      "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
    );
  });
});

function keyOf(name: keyof typeof rfcKeys): KeyObject {
  const jwk = rfcKeys[name];
  if ("k" in jwk) return createSecretKey(Buffer.from(jwk.k, "base64url"));
  return createPublicKey({ key: jwk, format: "jwk" });
}
