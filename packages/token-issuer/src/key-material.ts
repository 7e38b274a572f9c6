import { type Algorithm, createPemSource, createSecretSource, isSymmetric } from "@svc/jwt-auth";
import { ConfigurationError, type EnvironmentName } from "@svc/options";
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

/** A JSON Web Key. Derived from `JsonWebKeyInput`, because no other name of this type exists in all versions of `@types/node`. */
export type JsonWebKey = JsonWebKeyInput["key"];

/** A key for signing and the key that verifies its signatures. Both are the same for a secret. */
export interface KeyMaterial {
  readonly kid: string;
  readonly algorithm: Algorithm;
  readonly signing?: KeyObject | undefined;
  readonly verifying: KeyObject;
}

/** Options of `generateKey()`. */
export interface GenerateKeyOptions {
  /** The algorithm of the key. Default: `RS256`. */
  readonly algorithm?: Algorithm | undefined;
  /** Bits of an RSA key, 2048 to 8192. Default: 2048. */
  readonly rsaBits?: number | undefined;
}

const curves: Readonly<Record<string, string>> = { ES256: "P-256", ES384: "P-384", ES512: "P-521" };
const newKeyPair = promisify(generateKeyPair);

/** Generates a key; RSA and EC keys in the thread pool. */
export async function generateKey(options: GenerateKeyOptions = {}): Promise<KeyMaterial> {
  const { algorithm = "RS256", rsaBits = 2048 } = options;
  // A secret must be at least as long as the digest (RFC 7518 section 3.2).
  if (isSymmetric(algorithm))
    return secretMaterial(randomBytes(Number(algorithm.slice(2)) / 8), algorithm, "prod");
  return privateMaterial(await newPrivateKey(algorithm, rsaBits), algorithm);
}

async function newPrivateKey(algorithm: Algorithm, rsaBits: number): Promise<KeyObject> {
  const namedCurve = curves[algorithm];
  if (namedCurve !== undefined) return (await newKeyPair("ec", { namedCurve })).privateKey;
  if (algorithm === "EdDSA") return (await newKeyPair("ed25519")).privateKey;
  if (!Number.isInteger(rsaBits) || rsaBits < 2048 || rsaBits > 8192)
    throw new KeyRingError("broken", `an RSA key must have 2048 to 8192 bits, not ${rsaBits}`);
  return (await newKeyPair("rsa", { modulusLength: rsaBits })).privateKey;
}

/**
 * Makes a key from a secret, under the same rules as for verification (AUTH-31, AUTH-32).
 *
 * @throws KeyRingError when the secret must not be used; the message does not contain it
 */
export function secretMaterial(
  secret: string | Uint8Array,
  algorithm: Algorithm,
  env: EnvironmentName,
): KeyMaterial {
  const key = checked(() => createSecretSource({ secret, algorithms: [algorithm], env }), algorithm);
  return { kid: thumbprint(key.export({ format: "jwk" })), algorithm, signing: key, verifying: key };
}

/**
 * Makes a key from a private key and derives its public half.
 *
 * @throws KeyRingError when it does not fit the algorithm (AUTH-25, AUTH-26)
 */
export function privateMaterial(signing: KeyObject, algorithm: Algorithm): KeyMaterial {
  return { ...publicMaterial(createPublicKey(signing), algorithm), signing };
}

/**
 * Makes a key that only verifies, from a public key.
 *
 * @throws KeyRingError when it does not fit the algorithm (AUTH-25, AUTH-26)
 */
export function publicMaterial(key: KeyObject, algorithm: Algorithm): KeyMaterial {
  const publicKey = key.export({ type: "spki", format: "pem" }).toString();
  const verifying = checked(() => createPemSource({ publicKey, algorithms: [algorithm] }), algorithm);
  return { kid: thumbprint(verifying.export({ format: "jwk" })), algorithm, verifying };
}

/** Reads a private key from a PEM. Without `algorithm`, chooses the usual algorithm for the key's type. */
export function pemMaterial(pem: string, algorithm?: Algorithm): KeyMaterial {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem.replaceAll(/\\r/g, "").replaceAll(/\\n/g, "\n").trim());
  } catch {
    throw new KeyRingError(
      "broken",
      "the private key cannot be read: use one unencrypted PEM, preferably PKCS#8",
    );
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

/** Reads a key from a JSON Web Key: a secret, a private key or a public key. */
export function jwkMaterial(jwk: JsonWebKey, algorithm: Algorithm, env: EnvironmentName): KeyMaterial {
  if (isSymmetric(algorithm)) {
    if (jwk.kty !== "oct" || typeof jwk.k !== "string")
      throw new KeyRingError("broken", `${algorithm} needs a secret, a JSON Web Key of kty oct`);
    return secretMaterial(Buffer.from(jwk.k, "base64url"), algorithm, env);
  }
  let key: KeyObject;
  try {
    const input = { key: jwk, format: "jwk" } as const;
    key = jwk.d === undefined ? createPublicKey(input) : createPrivateKey(input);
  } catch {
    throw new KeyRingError("broken", `the JSON Web Key for ${algorithm} cannot be read`);
  }
  if (key.type === "public") return publicMaterial(key, algorithm);
  const material = privateMaterial(key, algorithm);
  if (!belongTogether(key, material.verifying))
    throw new KeyRingError("broken", `the private and public halves of the ${algorithm} key do not match`);
  return material;
}

// A JWK holds a private and a public key, and Node does not check that they match. If they do not, every issued token fails
// verification.
function belongTogether(signing: KeyObject, verifying: KeyObject): boolean {
  const probe = Buffer.from("probe");
  const digest = signing.asymmetricKeyType === "ed25519" ? undefined : "sha512";
  try {
    return verify(digest, probe, verifying, sign(digest, probe, signing));
  } catch {
    return false;
  }
}

/** The members of a key that its thumbprint covers, in the order of RFC 7638. All except `k` are public. */
const thumbprintMembers: Readonly<Record<string, readonly (keyof JsonWebKey)[]>> = {
  RSA: ["e", "kty", "n"],
  EC: ["crv", "kty", "x", "y"],
  OKP: ["crv", "kty", "x"],
  oct: ["k", "kty"],
};

/** Returns the public members that RFC 7638 requires, in its order. */
export function requiredMembers(jwk: JsonWebKey): Record<string, string> {
  const names = thumbprintMembers[String(jwk.kty)] ?? [];
  return Object.fromEntries(names.map((name) => [name, String(jwk[name])]));
}

/**
 * Returns the thumbprint of a JSON Web Key, SHA-256 in base64url (RFC 7638). The thumbprint of a secret reveals no more
 * than a token that was signed with it.
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
