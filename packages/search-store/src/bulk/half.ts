const word = new Float32Array(1);
const bits = new Uint32Array(word.buffer);

/**
 * The sixteen bits of a number in half precision: of the nearest one, and of two that are as near the even one. Through single
 * precision, as the server reads the same number from a text. The number is not beyond what a half can hold.
 */
export function halfBits(value: number): number {
  word[0] = value;
  const single = bits[0] ?? 0;
  const sign = (single >>> 16) & 0x8000;
  const exponent = ((single >>> 23) & 0xff) - 112;
  const mantissa = single & 0x7f_ffff;
  if (exponent > 0) return sign | rounded((exponent << 23) | mantissa, 13);
  // Below 2^-14 a half has no leading one of its own, and below 2^-25 it is zero.
  if (exponent < -10) return sign;
  return sign | rounded(mantissa | 0x80_0000, 14 - exponent);
}

/** Without the last bits, to the nearest. A carry out of the mantissa goes up into the exponent, where it belongs. */
function rounded(value: number, dropped: number): number {
  const kept = value >>> dropped;
  const rest = value & ((1 << dropped) - 1);
  const middle = 1 << (dropped - 1);
  return rest > middle || (rest === middle && (kept & 1) === 1) ? kept + 1 : kept;
}
