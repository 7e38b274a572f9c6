import type { KeyObject } from "node:crypto";
import type { RefusalReason } from "@svc/jwt-auth";
import { fixedKeys } from "../support/fixed-keys.ts";
import { keyFixture } from "../support/key-fixtures.ts";
import { hostile, type HostileClass, type HostileToken } from "./hostile-token.ts";

/** Keys of the wrong type, curve or size for the algorithm. */
export const wrongKeys: HostileClass = {
  name: "keys that do not fit the algorithm",
  tokens: [
    withKey("AUTH-26", "an EC key for RS256", "RS256", keyFixture("p256").publicKey),
    withKey("AUTH-26", "an Ed25519 key for RS256", "RS256", keyFixture("ed25519").publicKey),
    withKey("AUTH-26", "a secret for RS256", "RS256", keyFixture("secret").publicKey),
    withKey("AUTH-26", "a P-384 key for ES256", "ES256", keyFixture("p384").publicKey),
    withKey("AUTH-26", "a secp256k1 key for ES256", "ES256", keyFixture("secp256k1").publicKey),
    withKey("AUTH-26", "an RSA key for ES256", "ES256", keyFixture("rsa2048").publicKey),
    withKey("AUTH-26", "a P-256 key for EdDSA", "EdDSA", keyFixture("p256").publicKey),
    withKey("AUTH-26", "another RSA key", "RS256", keyFixture("otherRsa2048").publicKey, "signature"),
    withKey("AUTH-26", "another P-256 key", "ES256", keyFixture("otherP256").publicKey, "signature"),
    withKey("AUTH-26", "another Ed25519 key", "EdDSA", keyFixture("otherEd25519").publicKey, "signature"),
    signedBy("AUTH-25", "an RSA key of 1,024 bits that signed the token", "RS256", "rsa1024"),
    signedBy("AUTH-26", "a secp256k1 key that signed the token, for ES256", "ES256", "secp256k1"),
    signedBy("AUTH-26", "an Ed448 key that signed the token, for EdDSA", "EdDSA", "ed448"),
  ],
};

/** Makes a test case whose key source has the bad key for one kid, and the right key for the kid `good`. */
function withKey(
  rule: string,
  defect: string,
  algorithm: "RS256" | "ES256" | "EdDSA",
  bad: KeyObject,
  reason: RefusalReason = "unknown_key",
  signer?: KeyObject,
): HostileToken {
  const right = { RS256: "rsa2048", ES256: "p256", EdDSA: "ed25519" } as const;
  const keys = fixedKeys([
    { kid: defect, algorithm, key: bad },
    { kid: "good", algorithm, key: keyFixture(right[algorithm]).publicKey },
  ]);
  return hostile(
    rule,
    defect,
    [reason],
    { algorithm, key: signer, header: { kid: defect } },
    { algorithm, header: { kid: "good" } },
    { keys, algorithms: [algorithm] },
  );
}

/** Makes a test case whose key source has the signing key, so that only the check of the key can refuse the token. */
function signedBy(
  rule: string,
  defect: string,
  algorithm: "RS256" | "ES256" | "EdDSA",
  name: "rsa1024" | "secp256k1" | "ed448",
): HostileToken {
  const { privateKey, publicKey } = keyFixture(name);
  return withKey(rule, defect, algorithm, publicKey, "unknown_key", privateKey);
}
