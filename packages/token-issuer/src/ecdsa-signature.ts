/** Bytes of each of the two numbers in a signature (RFC 7518 section 3.4). */
export const ecdsaBytes: Readonly<Record<string, number>> = { ES256: 32, ES384: 48, ES512: 66 };

/**
 * An ECDSA signature as RFC 7518 writes it, out of the DER that OpenSSL makes. Node could do that itself, and takes as
 * long for it as for the signature.
 *
 * @param bytes of each of the two numbers
 * @throws RangeError for what is no such signature
 */
export function fixedSignature(der: Buffer, bytes: number): Buffer {
  const fixed = Buffer.alloc(2 * bytes);
  // A sequence with a length of one byte, or of two, and in it two numbers.
  let at = der[1] === 0x81 ? 3 : 2;
  for (let end = bytes; end <= fixed.length; end += bytes) {
    const length = der[at + 1] ?? 0;
    const after = at + 2 + length;
    // A number that would look negative begins with a zero more.
    const from = Math.max(at + 2, after - bytes);
    if (der[at] !== 2 || length === 0 || length > bytes + 1 || after > der.length) {
      throw new RangeError("this is no ECDSA signature in DER");
    }
    der.copy(fixed, end - (after - from), from, after);
    at = after;
  }
  if (at !== der.length) throw new RangeError("this is no ECDSA signature in DER");
  return fixed;
}
