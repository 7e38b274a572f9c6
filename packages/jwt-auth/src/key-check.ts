import type { KeyObject } from "node:crypto";
import type { Algorithm } from "./algorithms.ts";

/** RSA keys that are shorter are refused, whatever they sign (AUTH-25). */
export const MIN_RSA_BITS = 2048;

const curves: Readonly<Record<string, string>> = {
  ES256: "prime256v1",
  ES384: "secp384r1",
  ES512: "secp521r1",
};

/**
 * Why a key must not verify tokens of an algorithm, or undefined when it may: its type and curve must be those of
 * the algorithm (AUTH-26), RSA keys have at least 2,048 bits (AUTH-25), secrets are not empty.
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
  // A key bound to PSS by its certificate may fix the hash; only the plain kind fits every RSA algorithm.
  const wrongType = typeFault(key, algorithm, "rsa");
  if (wrongType !== undefined) return wrongType;
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  return bits >= MIN_RSA_BITS
    ? undefined
    : `an RSA key needs at least ${MIN_RSA_BITS} bits; this one has ${bits}`;
}

function typeFault(key: KeyObject, algorithm: Algorithm, type: string): string | undefined {
  const has = key.asymmetricKeyType;
  return has === type ? undefined : `${algorithm} needs a key of type ${type}, not ${has}`;
}
