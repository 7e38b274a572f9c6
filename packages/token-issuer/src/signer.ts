import { constants, createHmac, type KeyObject, sign as signBytesWith } from "node:crypto";
import { promisify } from "node:util";
import { type Algorithm, ecdsaBytes, isSymmetric } from "@svc/jwt-auth";
import type { Signer } from "./key-ring.ts";

const signInThreadPool = promisify(signBytesWith);

// These algorithms sign in less than 0.1 ms, the others in 0.3 to 2 ms. Only slow algorithms gain from the thread pool.
const quick: ReadonlySet<Algorithm> = new Set(["ES256", "EdDSA"]);

/** Makes a signer for one key. It encodes the header of its tokens once. */
export function createSigner(kid: string, algorithm: Algorithm, key: KeyObject): Signer {
  const header = encoded(JSON.stringify({ alg: algorithm, kid, typ: "JWT" }));
  const signBytes = signatureOf(algorithm, key);
  return {
    kid,
    algorithm,
    signatureBytes: signatureBytes(algorithm, key),
    signBytes,
    sign(claims) {
      const signed = `${header}.${encoded(JSON.stringify(claims))}`;
      const signature = signBytes(Buffer.from(signed, "latin1"));
      if (signature instanceof Promise) return signature.then((bytes) => withSignature(signed, bytes));
      return withSignature(signed, signature);
    },
  };
}

function withSignature(signed: string, signature: Buffer): string {
  return `${signed}.${signature.toString("base64url")}`;
}

function encoded(text: string): string {
  return Buffer.from(text).toString("base64url");
}

function signatureBytes(algorithm: Algorithm, key: KeyObject): number {
  const { modulusLength } = key.asymmetricKeyDetails ?? {};
  if (modulusLength !== undefined) return Math.ceil(modulusLength / 8);
  return isSymmetric(algorithm) ? Number(algorithm.slice(2)) / 8 : 2 * (ecdsaBytes[algorithm] ?? 32);
}

function signatureOf(algorithm: Algorithm, key: KeyObject): Signer["signBytes"] {
  const digest = algorithm === "EdDSA" ? undefined : `sha${algorithm.slice(2)}`;
  if (isSymmetric(algorithm))
    return (bytes) =>
      createHmac(digest ?? "", key)
        .update(bytes)
        .digest();
  const input = algorithm.startsWith("PS")
    ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
    : key;
  const size = ecdsaBytes[algorithm];
  const written = (signature: Buffer): Buffer =>
    size === undefined ? signature : fixedSignature(signature, size);
  if (quick.has(algorithm)) return (bytes) => written(signBytesWith(digest, bytes, input));
  return async (bytes) => written(await signInThreadPool(digest, bytes, input));
}

/**
 * Converts an ECDSA signature from the DER of OpenSSL to the format of RFC 7518. Node's own conversion takes as long as the
 * signature itself.
 *
 * @param bytes length of each of the two integers
 * @throws RangeError when `der` is not such a signature
 */
export function fixedSignature(der: Buffer, bytes: number): Buffer {
  const fixed = Buffer.alloc(2 * bytes);
  // DER: a sequence whose length takes one or two bytes, with two integers.
  let at = der[1] === 0x81 ? 3 : 2;
  for (let end = bytes; end <= fixed.length; end += bytes) {
    const length = der[at + 1] ?? 0;
    const after = at + 2 + length;
    // DER puts a zero byte before an integer whose first bit is set.
    const from = Math.max(at + 2, after - bytes);
    if (der[at] !== 2 || length === 0 || length > bytes + 1 || after > der.length) {
      throw new RangeError("not an ECDSA signature in DER");
    }
    der.copy(fixed, end - (after - from), from, after);
    at = after;
  }
  if (at !== der.length) throw new RangeError("not an ECDSA signature in DER");
  return fixed;
}
