/** Bytes of each of the two numbers in a signature (RFC 7518 section 3.4). */
export const ecdsaBytes: Readonly<Record<string, number>> = { ES256: 32, ES384: 48, ES512: 66 };

/**
 * An ECDSA signature as OpenSSL takes it, in DER, out of the two numbers of fixed length that RFC 7518 writes. Node could
 * do that itself, and takes half as long for it as for the check.
 *
 * @param fixed twice as many bytes as a number has
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
  /** Of its first byte in the text of fixed length. */
  readonly start: number;
  readonly end: number;
  /** Bytes in DER: a number that would look negative begins with a zero more. */
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
