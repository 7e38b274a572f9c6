/**
 * Returns the size in bytes that a JSON string has after `jsonb` has written all numbers without exponents: `1e308` becomes
 * 309 digits.
 * The result is an upper bound, without the spaces that `jsonb` adds, and exact if no number has an exponent. Size limits
 * must use this function, because `jsonb` returns the full form.
 *
 * @param json the result of `JSON.stringify()`
 */
export function jsonBytes(json: string): number {
  const bytes = Buffer.byteLength(json);
  // Require a character that can follow a number: otherwise the `4e5` in a hexadecimal id would start the slow count of
  // exponents.
  return /\d[eE][+-]?\d+(?:[\s,\]}]|$)/.test(json) ? bytes + exponents(json) : bytes;
}

/** Returns the sum of all exponents outside of strings. */
function exponents(json: string): number {
  let sum = 0;
  for (let at = 0; at < json.length;) {
    const quote = json.indexOf('"', at);
    const end = quote === -1 ? json.length : quote;
    for (const [, exponent] of json.slice(at, end).matchAll(/[eE]([+-]?\d+)/g))
      sum += Math.abs(Number(exponent));
    at = quote === -1 ? json.length : afterString(json, quote);
  }
  return sum;
}

/** Returns the position after the string whose opening quote is at `quote`. */
function afterString(json: string, quote: number): number {
  for (let at = quote + 1; ; at++) {
    at = json.indexOf('"', at);
    if (at === -1) return json.length;
    let slashes = 0;
    while (json[at - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return at + 1;
  }
}
