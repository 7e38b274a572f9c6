import { constants, type KeyObject, verify } from "node:crypto";
import type { Algorithm } from "./algorithms.ts";
import { derSignature, ecdsaBytes } from "./ecdsa-signature.ts";
import { hmacCheck } from "./hmac.ts";

const hashes: Readonly<Record<string, string>> = { "256": "sha256", "384": "sha384", "512": "sha512" };
const ED25519_SIGNATURE_BYTES = 64;

/** Checks a signature of the signed text. */
export type SignatureCheck = (
  signed: string,
  signature: Buffer,
  key: KeyObject,
) => boolean | Promise<boolean>;

/**
 * Returns the check for an algorithm. HMAC and RSA run synchronously, because a hand-over to a thread costs more than it
 * saves. Elliptic curves run synchronously or, with `inThreadPool`, in the thread pool.
 */
export function signatureCheck(algorithm: Algorithm, inThreadPool: boolean): SignatureCheck {
  const hash = hashes[algorithm.slice(2)];
  const family = algorithm.slice(0, 2);
  if (family === "HS") return hmacCheck(algorithm.slice(2));
  if (family === "RS") return (signed, signature, key) => verify(hash, bytesOf(signed), key, signature);
  if (family === "PS") return pssCheck(hash ?? "");
  const bytes = ecdsaBytes[algorithm];
  return bytes === undefined
    ? curveCheck(hash, ED25519_SIGNATURE_BYTES, inThreadPool)
    : curveCheck(hash, 2 * bytes, inThreadPool, derSignature);
}

function pssCheck(hash: string): SignatureCheck {
  const padding = constants.RSA_PKCS1_PSS_PADDING;
  const saltLength = constants.RSA_PSS_SALTLEN_DIGEST;
  return (signed, signature, key) => {
    const modulusBytes = Math.ceil((key.asymmetricKeyDetails?.modulusLength ?? 0) / 8);
    // RFC 8017, 8.1.2. For PSS, unlike PKCS #1 v1.5, OpenSSL also accepts a signature without its leading zero.
    if (signature.length !== modulusBytes) return false;
    return verify(hash, bytesOf(signed), { key, padding, saltLength }, signature);
  };
}

// Passes the key itself instead of an options object, which costs Node 15 us to read.
function curveCheck(
  hash: string | undefined,
  length: number,
  inThreadPool: boolean,
  encoded: (signature: Buffer) => Buffer = asItIs,
): SignatureCheck {
  return (signed, signature, key) => {
    if (signature.length !== length) return false;
    if (!inThreadPool) return verify(hash, bytesOf(signed), key, encoded(signature));
    return new Promise((resolve) => {
      verify(hash, bytesOf(signed), key, encoded(signature), (error, holds) =>
        resolve(error === null && holds),
      );
    });
  };
}

function asItIs(signature: Buffer): Buffer {
  return signature;
}

// A parsed token is ASCII.
function bytesOf(signed: string): Buffer {
  return Buffer.from(signed, "latin1");
}
