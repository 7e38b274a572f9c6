import {
  constants,
  createHmac,
  createPublicKey,
  generateKeyPair,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
  sign as signBytes,
  verify,
} from "node:crypto";
import { promisify } from "node:util";
import type { Algorithm } from "./options.ts";

/** The signing key: a shared secret or a private key. */
export type SigningKey = Buffer | KeyObject;

/** Returns the RFC 7515 signature of some bytes. */
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

export interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const generate = promisify(generateKeyPair);

/** Generates a key pair for an algorithm; RSA keys have `bits`. */
export function newKeyPair(algorithm: Algorithm, bits = 2048): Promise<KeyPair> {
  if (algorithm === "EdDSA") return generate("ed25519");
  const namedCurve = curves[algorithm];
  if (namedCurve !== undefined) return generate("ec", { namedCurve });
  return generate("rsa", { modulusLength: bits });
}

/** A key unknown to the service, and how a token would include it. */
export interface Stranger {
  readonly key: SigningKey;
  readonly jwk: object;
}

const strangers = new Map<Algorithm, Promise<Stranger>>();

/** Returns the same key at every call, because RSA keys take long to generate. */
export function strangerOf(algorithm: Algorithm): Promise<Stranger> {
  const known = strangers.get(algorithm) ?? newStranger(algorithm);
  strangers.set(algorithm, known);
  return known;
}

async function newStranger(algorithm: Algorithm): Promise<Stranger> {
  if (algorithm.startsWith("HS")) {
    const key = randomBytes(64);
    return { key, jwk: { kty: "oct", k: key.toString("base64url") } };
  }
  const { privateKey, publicKey } = await newKeyPair(algorithm);
  return { key: privateKey, jwk: publicKey.export({ format: "jwk" }) };
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

/** Whether a published key has signed a token; false for an unusable key. */
export function hasSigned(jwk: Readonly<Record<string, unknown>>, token: string, algorithm: string): boolean {
  const end = token.lastIndexOf(".");
  const bytes = Buffer.from(token.slice(0, end));
  const signature = Buffer.from(token.slice(end + 1), "base64url");
  try {
    const key = createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
    if (algorithm === "EdDSA") return verify(null, bytes, key, signature);
    const hash = `sha${algorithm.slice(2)}`;
    if (algorithm.startsWith("ES")) return verify(hash, bytes, { key, dsaEncoding: "ieee-p1363" }, signature);
    if (algorithm.startsWith("PS")) {
      const saltLength = constants.RSA_PSS_SALTLEN_DIGEST;
      return verify(hash, bytes, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }, signature);
    }
    return verify(hash, bytes, key, signature);
  } catch {
    return false;
  }
}
