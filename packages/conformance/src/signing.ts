import { createHmac, generateKeyPairSync, type KeyObject, sign as signBytes, constants } from "node:crypto";
import type { Algorithm } from "./options.ts";

/** What signs: a shared secret or a private key. */
export type SigningKey = Buffer | KeyObject;

/** The signature of RFC 7515 over some bytes. */
export function signature(algorithm: Algorithm, key: SigningKey, bytes: Buffer): Buffer {
  const hash = `sha${algorithm.slice(2)}`;
  if (Buffer.isBuffer(key)) return createHmac(hash, key).update(bytes).digest();
  if (algorithm === "EdDSA") return signBytes(null, bytes, key);
  if (algorithm.startsWith("ES")) return signBytes(hash, bytes, { key, dsaEncoding: "ieee-p1363" });
  if (algorithm.startsWith("PS")) {
    const saltLength = constants.RSA_PSS_SALTLEN_DIGEST;
    return signBytes(hash, bytes, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength });
  }
  return signBytes(hash, bytes, key);
}

const curves: Readonly<Record<string, string>> = { ES256: "P-256", ES384: "P-384", ES512: "P-521" };

/** A new pair of keys that fits an algorithm; RSA keys of `bits`. */
export function newKeyPair(
  algorithm: Algorithm,
  bits = 2048,
): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } {
  if (algorithm === "EdDSA") return generateKeyPairSync("ed25519");
  const namedCurve = curves[algorithm];
  if (namedCurve !== undefined) return generateKeyPairSync("ec", { namedCurve });
  return generateKeyPairSync("rsa", { modulusLength: bits });
}

/** Whether a private key can sign with an algorithm. */
export function fits(algorithm: Algorithm, key: KeyObject): boolean {
  if (algorithm === "EdDSA") return key.asymmetricKeyType === "ed25519";
  if (!algorithm.startsWith("ES")) return key.asymmetricKeyType === "rsa";
  const names: Readonly<Record<string, string>> = {
    ES256: "prime256v1",
    ES384: "secp384r1",
    ES512: "secp521r1",
  };
  return key.asymmetricKeyType === "ec" && key.asymmetricKeyDetails?.namedCurve === names[algorithm];
}
