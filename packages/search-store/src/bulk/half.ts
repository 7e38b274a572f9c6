const word = new Float32Array(1);
const bits = new Uint32Array(word.buffer);

/**
 * Returns the 16 bits of the nearest half-precision number; of two equally near ones, the even one. Rounds to single precision
 * first, as the server does for a number in a text. The number must be in the range of half precision.
 */
export function halfBits(value: number): number {
  word[0] = value;
  const single = bits[0] ?? 0;
  const sign = (single >>> 16) & 0x8000;
  const exponent = ((single >>> 23) & 0xff) - 112;
  const mantissa = single & 0x7f_ffff;
  if (exponent > 0) return sign | rounded((exponent << 23) | mantissa, 13);
  // Below 2^-14 a half has no implicit leading 1, and below 2^-25 it is zero.
  if (exponent < -10) return sign;
  return sign | rounded(mantissa | 0x80_0000, 14 - exponent);
}

/** Drops the last bits and rounds to nearest. A carry out of the mantissa correctly increments the exponent. */
function rounded(value: number, dropped: number): number {
  const kept = value >>> dropped;
  const rest = value & ((1 << dropped) - 1);
  const middle = 1 << (dropped - 1);
  return rest > middle || (rest === middle && (kept & 1) === 1) ? kept + 1 : kept;
}
