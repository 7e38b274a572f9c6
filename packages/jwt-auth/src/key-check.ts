import type { AsymmetricKeyDetails, KeyObject } from "node:crypto";
import type { Algorithm } from "./algorithms.ts";

/** Shortest accepted RSA key, in bits (AUTH-25). */
export const MIN_RSA_BITS = 2048;

// OpenSSL refuses to verify with a longer key.
const MAX_RSA_BITS = 16_384;

const curves: Readonly<Record<string, string>> = {
  ES256: "prime256v1",
  ES384: "secp384r1",
  ES512: "secp521r1",
};

/**
 * Returns why a key must not verify tokens of an algorithm, or undefined. The key must have the algorithm's type and
 * curve (AUTH-26); an RSA key needs at least 2,048 bits (AUTH-25) and a valid exponent; a secret must not be empty.
 */
export function keyFault(key: KeyObject, algorithm: Algorithm): string | undefined {
  if (algorithm.startsWith("HS")) {
    if (key.type !== "secret") return `${algorithm} needs a secret, not a ${key.type} key`;
    return key.symmetricKeySize === 0 ? "the secret is empty" : undefined;
  }
  if (key.type !== "public") return `${algorithm} needs a public key, not a ${key.type} key`;
  if (algorithm === "EdDSA") return typeFault(key, algorithm, "ed25519");
  const curve = curves[algorithm];
  if (curve !== undefined) {
    const has = key.asymmetricKeyDetails?.namedCurve;
    return (
      typeFault(key, algorithm, "ec") ??
      (has === curve ? undefined : `${algorithm} needs ${curve}, not ${has}`)
    );
  }
  // A key of type rsa-pss may allow only one hash; type rsa fits every RSA algorithm.
  return typeFault(key, algorithm, "rsa") ?? rsaFault(key.asymmetricKeyDetails);
}

/**
 * Returns why a key does not fit one of the algorithms, with the remedy; undefined if it fits all.
 *
 * @param fitting the algorithms that the key may be used for
 */
export function fitFault(
  key: KeyObject,
  fitting: readonly Algorithm[],
  algorithms: readonly Algorithm[],
): string | undefined {
  const wrong = algorithms.find((each) => !fitting.includes(each));
  if (wrong === undefined) return undefined;
  const message = keyFault(key, wrong) ?? `the key is not for ${wrong}`;
  const remedy = fitting.length === 0 ? "use another key" : `the key fits ${fitting.join(", ")}`;
  return `does not fit the algorithms: ${message}; ${remedy}`;
}

function rsaFault({ modulusLength: bits = 0, publicExponent: exponent = 0n }: AsymmetricKeyDetails = {}):
  string | undefined {
  if (bits < MIN_RSA_BITS) return `an RSA key needs at least ${MIN_RSA_BITS} bits; this one has ${bits}`;
  if (bits > MAX_RSA_BITS) return `an RSA key may have at most ${MAX_RSA_BITS} bits; this one has ${bits}`;
  // With exponent 1 a message is its own signature, so any client can forge one; an even exponent has no private key.
  if (exponent >= 3n && exponent % 2n === 1n) return undefined;
  return "an RSA key needs an odd public exponent of at least 3";
}

function typeFault(key: KeyObject, algorithm: Algorithm, type: string): string | undefined {
  const has = key.asymmetricKeyType;
  return has === type ? undefined : `${algorithm} needs a key of type ${type}, not ${has}`;
}
