import { hash, type KeyObject, timingSafeEqual } from "node:crypto";
import { MAX_TOKEN_LENGTH } from "./token-parser.ts";

/** A hash function, with its block and digest lengths in bytes. */
interface HashFunction {
  readonly name: string;
  readonly block: number;
  readonly digest: number;
}

const hashFunctions: Readonly<Record<string, HashFunction>> = {
  "256": { name: "sha256", block: 64, digest: 32 },
  "384": { name: "sha384", block: 128, digest: 48 },
  "512": { name: "sha512", block: 128, digest: 64 },
};

const INNER = 0x36;
const OUTER = 0x5c;

/**
 * Creates a check of HMAC signatures as in RFC 2104: `H(K ^ opad, H(K ^ ipad, text))`. Computes each hash in one call:
 * `createHmac()` creates a native object per token, which costs several times as much. Compares signatures in constant
 * time.
 *
 * @param bits size of the SHA-2 digest: 256, 384 or 512
 */
export function hmacCheck(bits: string): (signed: string, signature: Buffer, key: KeyObject) => boolean {
  const { name, block, digest } = hashFunctions[bits] as HashFunction;
  const inner = Buffer.alloc(block + MAX_TOKEN_LENGTH);
  const outer = Buffer.alloc(block + digest);
  const expected = Buffer.alloc(digest);
  let prepared: KeyObject | undefined;

  function prepare(key: KeyObject): void {
    const secret = key.export();
    const bytes = secret.length > block ? hash(name, secret, "buffer") : secret;
    inner.fill(INNER, 0, block);
    outer.fill(OUTER, 0, block);
    for (const [index, byte] of bytes.entries()) {
      inner[index] = byte ^ INNER;
      outer[index] = byte ^ OUTER;
    }
    prepared = key;
  }

  return (signed, signature, key) => {
    if (signature.length !== digest || signed.length > MAX_TOKEN_LENGTH) return false;
    if (key !== prepared) prepare(key);
    // A parsed token is ASCII. A digest as a string is cheaper than one in a new buffer.
    const end = block + inner.write(signed, block, "latin1");
    outer.write(hash(name, inner.subarray(0, end), "binary"), block, "latin1");
    expected.write(hash(name, outer, "binary"), "latin1");
    return timingSafeEqual(expected, signature);
  };
}
