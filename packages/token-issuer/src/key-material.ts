import { type Algorithm, createPemSource, createSecretSource, type Env } from "@svc/jwt-auth";
import { ConfigurationError } from "@svc/options";
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type JsonWebKeyInput,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from "node:crypto";
import { promisify } from "node:util";
import { KeyRingError } from "./key-ring-error.ts";

/** A JSON Web Key, by the one name that all versions of Node's types have for it. */
export type JsonWebKey = JsonWebKeyInput["key"];

/** A key that can sign, with the half that verifies. Of a secret both are the same. */
export interface KeyMaterial {
  readonly kid: string;
  readonly algorithm: Algorithm;
  readonly signing?: KeyObject | undefined;
  readonly verifying: KeyObject;
}

/** What `generateKey()` takes. */
export interface GenerateKeyOptions {
  /** The algorithm that it signs with. Default: `RS256`. */
  readonly algorithm?: Algorithm | undefined;
  /** Bits of an RSA key, 2048 to 8192. Default: 2048. */
  readonly rsaBits?: number | undefined;
}

const curves: Readonly<Record<string, string>> = { ES256: "P-256", ES384: "P-384", ES512: "P-521" };
const newKeyPair = promisify(generateKeyPair);

/** Whether an algorithm signs with a secret that is never published. */
export function isSecretAlgorithm(algorithm: Algorithm): boolean {
  return algorithm.startsWith("HS");
}

/** Draws a key, RSA and EC ones beside the main thread. */
export async function generateKey(options: GenerateKeyOptions = {}): Promise<KeyMaterial> {
  const { algorithm = "RS256", rsaBits = 2048 } = options;
  // As long as the digest, as RFC 7518 section 3.2 asks for.
  if (isSecretAlgorithm(algorithm))
    return secretMaterial(randomBytes(Number(algorithm.slice(2)) / 8), algorithm, "prod");
  return privateMaterial(await newPrivateKey(algorithm, rsaBits), algorithm);
}

async function newPrivateKey(algorithm: Algorithm, rsaBits: number): Promise<KeyObject> {
  const namedCurve = curves[algorithm];
  if (namedCurve !== undefined) return (await newKeyPair("ec", { namedCurve })).privateKey;
  if (algorithm === "EdDSA") return (await newKeyPair("ed25519")).privateKey;
  if (!Number.isInteger(rsaBits) || rsaBits < 2048 || rsaBits > 8192)
    throw new KeyRingError("broken", `an RSA key has 2048 to 8192 bits, not ${rsaBits}`);
  return (await newKeyPair("rsa", { modulusLength: rsaBits })).privateKey;
}

/**
 * A secret as a key; the rules of verifying hold for signing too (AUTH-31, AUTH-32).
 *
 * @throws KeyRingError when it may not be used; never shows it
 */
export function secretMaterial(secret: string | Uint8Array, algorithm: Algorithm, env: Env): KeyMaterial {
  const key = checked(() => createSecretSource({ secret, algorithms: [algorithm], env }), algorithm);
  return { kid: thumbprint(key.export({ format: "jwk" })), algorithm, signing: key, verifying: key };
}

/**
 * A private key with its public half.
 *
 * @throws KeyRingError when it does not fit the algorithm (AUTH-25, AUTH-26)
 */
export function privateMaterial(signing: KeyObject, algorithm: Algorithm): KeyMaterial {
  return { ...publicMaterial(createPublicKey(signing), algorithm), signing };
}

/**
 * A public key alone.
 *
 * @throws KeyRingError when it does not fit the algorithm (AUTH-25, AUTH-26)
 */
export function publicMaterial(key: KeyObject, algorithm: Algorithm): KeyMaterial {
  const publicKey = key.export({ type: "spki", format: "pem" }).toString();
  const verifying = checked(() => createPemSource({ publicKey, algorithms: [algorithm] }), algorithm);
  return { kid: thumbprint(verifying.export({ format: "jwk" })), algorithm, verifying };
}

/** The key of a PEM, and what it signs with unless said otherwise. */
export function pemMaterial(pem: string, algorithm?: Algorithm): KeyMaterial {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem.replaceAll(/\\r/g, "").replaceAll(/\\n/g, "\n").trim());
  } catch {
    throw new KeyRingError("broken", "the private key cannot be read: give one unencrypted PEM, PKCS#8 best");
  }
  return privateMaterial(key, algorithm ?? usualAlgorithm(key));
}

function usualAlgorithm(key: KeyObject): Algorithm {
  const curve = key.asymmetricKeyDetails?.namedCurve;
  if (curve === "prime256v1") return "ES256";
  if (curve === "secp384r1") return "ES384";
  if (curve === "secp521r1") return "ES512";
  return key.asymmetricKeyType === "ed25519" ? "EdDSA" : "RS256";
}

/** The key of a JSON Web Key: a secret, a private key or a public one. */
export function jwkMaterial(jwk: JsonWebKey, algorithm: Algorithm, env: Env): KeyMaterial {
  if (isSecretAlgorithm(algorithm)) {
    if (jwk.kty !== "oct" || typeof jwk.k !== "string")
      throw new KeyRingError("broken", `${algorithm} needs a secret, a JSON Web Key of kty oct`);
    return secretMaterial(Buffer.from(jwk.k, "base64url"), algorithm, env);
  }
  let key: KeyObject;
  try {
    const input = { key: jwk, format: "jwk" } as const;
    key = jwk.d === undefined ? createPublicKey(input) : createPrivateKey(input);
  } catch {
    throw new KeyRingError("broken", `the JSON Web Key of ${algorithm} cannot be read`);
  }
  if (key.type === "public") return publicMaterial(key, algorithm);
  const material = privateMaterial(key, algorithm);
  if (!belongTogether(key, material.verifying))
    throw new KeyRingError("broken", `the private and the public half of a key of ${algorithm} differ`);
  return material;
}

// A JSON Web Key names both halves, and nobody compares them before the first token is refused.
function belongTogether(signing: KeyObject, verifying: KeyObject): boolean {
  const probe = Buffer.from("probe");
  const digest = signing.asymmetricKeyType === "ed25519" ? undefined : "sha512";
  try {
    return verify(digest, probe, verifying, sign(digest, probe, signing));
  } catch {
    return false;
  }
}

/** The members that a thumbprint is made of, in the order that RFC 7638 wants; all of them but `k` are public. */
const thumbprintMembers: Readonly<Record<string, readonly (keyof JsonWebKey)[]>> = {
  RSA: ["e", "kty", "n"],
  EC: ["crv", "kty", "x", "y"],
  OKP: ["crv", "kty", "x"],
  oct: ["k", "kty"],
};

/** The members of a key that everybody may see, in the order of RFC 7638. */
export function requiredMembers(jwk: JsonWebKey): Record<string, string> {
  const names = thumbprintMembers[String(jwk.kty)] ?? [];
  return Object.fromEntries(names.map((name) => [name, String(jwk[name])]));
}

/**
 * The thumbprint of a JSON Web Key, SHA-256 in base64url (RFC 7638). Of a secret it tells no more than any token that
 * was signed with it.
 */
export function thumbprint(jwk: JsonWebKey): string {
  return createHash("sha256")
    .update(JSON.stringify(requiredMembers(jwk)))
    .digest("base64url");
}

function checked(source: () => ReturnType<typeof createPemSource>, algorithm: Algorithm): KeyObject {
  try {
    const key = source().find(undefined, algorithm);
    if (key !== undefined) return key;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new KeyRingError("broken", `the key ${error.faults[0]?.message ?? "cannot be used"}`);
  }
  throw new KeyRingError("broken", `the key cannot be used with ${algorithm}`);
}
