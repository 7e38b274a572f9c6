/** Bytes of each of the two integers in a signature (RFC 7518 section 3.4). */
export const ecdsaBytes: Readonly<Record<string, number>> = { ES256: 32, ES384: 48, ES512: 66 };

/**
 * Converts an ECDSA signature from the DER of OpenSSL to the format of RFC 7518. Node can convert too, but takes as long
 * for it as for the signature.
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
