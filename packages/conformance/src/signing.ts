import {
  constants,
  createHmac,
  createPublicKey,
  generateKeyPair,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from "node:crypto";
import { promisify } from "node:util";
import type { JsonObject } from "./answer.ts";
import type { Algorithm } from "./option-values.ts";

/** The signing key: a shared secret or a private key. */
export type SigningKey = Buffer | KeyObject;

/** Returns the hash and signature options that RFC 7518 requires, for a key that is not a shared secret. */
function formOf(algorithm: string): { readonly hash: string | null; readonly form: object } {
  if (algorithm === "EdDSA") return { hash: null, form: {} };
  const { RSA_PKCS1_PSS_PADDING: padding, RSA_PSS_SALTLEN_DIGEST: saltLength } = constants;
  const forms: Readonly<Record<string, object>> = {
    ES: { dsaEncoding: "ieee-p1363" },
    PS: { padding, saltLength },
  };
  return { hash: `sha${algorithm.slice(2)}`, form: forms[algorithm.slice(0, 2)] ?? {} };
}

/** Returns the RFC 7515 signature of some bytes. */
export function signature(algorithm: Algorithm, key: SigningKey, bytes: Buffer): Buffer {
  const { hash, form } = formOf(algorithm);
  if (Buffer.isBuffer(key)) return createHmac(String(hash), key).update(bytes).digest();
  return sign(hash, bytes, { key, ...form });
}

/** OpenSSL's names of the curves. */
const curves: Readonly<Record<string, string>> = {
  ES256: "prime256v1",
  ES384: "secp384r1",
  ES512: "secp521r1",
};

export interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const generate = promisify(generateKeyPair);

/** Generates a key pair for an algorithm. `bits` is the length of RSA keys. */
export function newKeyPair(algorithm: Algorithm, bits = 2048): Promise<KeyPair> {
  if (algorithm === "EdDSA") return generate("ed25519");
  const namedCurve = curves[algorithm];
  if (namedCurve !== undefined) return generate("ec", { namedCurve });
  return generate("rsa", { modulusLength: bits });
}

/** A key that the service does not know, with the JWK that a token can embed. */
export interface Stranger {
  readonly key: SigningKey;
  readonly jwk: object;
}

const strangers = new Map<Algorithm, Promise<Stranger>>();

/** Returns a key that the service does not know; the same one at every call, because generating RSA keys is slow. */
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
  return key.asymmetricKeyType === "ec" && key.asymmetricKeyDetails?.namedCurve === curves[algorithm];
}

/** Whether a published key signed a token; false for an unusable key. */
export function hasSigned(jwk: JsonObject, token: string, algorithm: string): boolean {
  const end = token.lastIndexOf(".");
  const bytes = Buffer.from(token.slice(0, end));
  const signature = Buffer.from(token.slice(end + 1), "base64url");
  try {
    const key = createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
    const { hash, form } = formOf(algorithm);
    return verify(hash, bytes, { key, ...form }, signature);
  } catch {
    return false;
  }
}
