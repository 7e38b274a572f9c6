import { createPublicKey, createSecretKey, generateKeyPairSync, hkdfSync, type KeyObject } from "node:crypto";
import type { Algorithm } from "../../src/algorithms.ts";

/** A signing key and its verifying key, which are the same object for a shared secret. */
export interface KeyFixture {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const makers = {
  rsa1024: () => generateKeyPairSync("rsa", { modulusLength: 1024 }),
  rsa2048: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
  otherRsa2048: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
  p256: () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
  otherP256: () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
  p384: () => generateKeyPairSync("ec", { namedCurve: "P-384" }),
  p521: () => generateKeyPairSync("ec", { namedCurve: "P-521" }),
  secp256k1: () => generateKeyPairSync("ec", { namedCurve: "secp256k1" }),
  ed25519: () => generateKeyPairSync("ed25519"),
  otherEd25519: () => generateKeyPairSync("ed25519"),
  ed448: () => generateKeyPairSync("ed448"),
  secret: () => shared("secret"),
  otherSecret: () => shared("other secret"),
} as const satisfies Readonly<Record<string, () => KeyFixture>>;

export type KeyName = keyof typeof makers;

const made = new Map<KeyName, KeyFixture>();

/** Returns the key pair with this name, which is generated at its first use and kept for the rest of the run. */
export function keyFixture(name: KeyName): KeyFixture {
  const known = made.get(name);
  if (known !== undefined) return known;
  const fixture = makers[name]();
  made.set(name, fixture);
  return fixture;
}

const forAlgorithm: Readonly<Record<Algorithm, KeyName>> = {
  RS256: "rsa2048",
  RS384: "rsa2048",
  RS512: "rsa2048",
  PS256: "rsa2048",
  PS384: "rsa2048",
  PS512: "rsa2048",
  ES256: "p256",
  ES384: "p384",
  ES512: "p521",
  EdDSA: "ed25519",
  HS256: "secret",
  HS384: "secret",
  HS512: "secret",
};

/** Returns the fixture that signs tokens of an algorithm. */
export function keyFor(algorithm: Algorithm): KeyFixture {
  return keyFixture(forAlgorithm[algorithm]);
}

/** Returns a public key as PEM. */
export function pemOf(name: KeyName, type: "spki" | "pkcs1" = "spki"): string {
  return createPublicKey(keyFixture(name).privateKey).export({ type, format: "pem" }).toString();
}

/** Derives a secret that is long enough for HS512 and the same in every run. */
function shared(info: string): KeyFixture {
  const key = createSecretKey(Buffer.from(hkdfSync("sha256", "svc tests", "", info, 64)));
  return { privateKey: key, publicKey: key };
}
