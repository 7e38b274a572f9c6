/**
 * How many bytes a JSON text has with its numbers written in full, as `jsonb` keeps them and writes them: `1e308` has 309 digits
 * there. An upper bound; exact where no number has an exponent. A limit on anything less bounds nothing that is read back.
 *
 * @param json of `JSON.stringify()`
 */
export function jsonBytes(json: string): number {
  const bytes = Buffer.byteLength(json);
  // What follows an exponent is asked for too: the `4e5` in a hexadecimal id would have every string looked at.
  return /\d[eE][+-]?\d+(?:[\s,\]}]|$)/.test(json) ? bytes + exponents(json) : bytes;
}

/** The sum of all exponents outside of strings. */
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

/** Where the string that begins with a quote has ended. */
function afterString(json: string, quote: number): number {
  for (let at = quote + 1; ; at++) {
    at = json.indexOf('"', at);
    if (at === -1) return json.length;
    let slashes = 0;
    while (json[at - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return at + 1;
  }
}
