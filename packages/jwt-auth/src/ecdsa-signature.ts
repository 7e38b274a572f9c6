/** Length of each of the two numbers in a signature, in bytes (RFC 7518 section 3.4). */
export const ecdsaBytes: Readonly<Record<string, number>> = { ES256: 32, ES384: 48, ES512: 66 };

/**
 * Converts an ECDSA signature from the two fixed-length numbers of RFC 7518 to DER, the format of OpenSSL. Node's own
 * conversion takes half as long as the check of the signature.
 *
 * @param fixed the two numbers, of equal length
 */
export function derSignature(fixed: Buffer): Buffer {
  const bytes = fixed.length / 2;
  const r = integerAt(fixed, 0, bytes);
  const s = integerAt(fixed, bytes, fixed.length);
  const length = r.length + s.length + 4;
  const longForm = length > 0x7f;
  const der = Buffer.allocUnsafe(length + (longForm ? 3 : 2));
  let at = 0;
  der[at++] = 0x30;
  if (longForm) der[at++] = 0x81;
  der[at++] = length;
  at = writeInteger(der, at, fixed, r);
  writeInteger(der, at, fixed, s);
  return der;
}

interface Integer {
  /** Offset of its first significant byte in `fixed`. */
  readonly start: number;
  readonly end: number;
  /** Length in DER, in bytes, including a leading zero for a number that would look negative. */
  readonly length: number;
}

function integerAt(fixed: Buffer, from: number, end: number): Integer {
  let start = from;
  while (start < end - 1 && fixed[start] === 0) start += 1;
  const looksNegative = (fixed[start] ?? 0) > 0x7f;
  return { start, end, length: end - start + (looksNegative ? 1 : 0) };
}

function writeInteger(der: Buffer, start: number, fixed: Buffer, number: Integer): number {
  let at = start;
  der[at++] = 0x02;
  der[at++] = number.length;
  if (number.length > number.end - number.start) der[at++] = 0;
  return at + fixed.copy(der, at, number.start, number.end);
}
