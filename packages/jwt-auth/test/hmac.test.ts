import { expect } from "chai";
import { createHmac, createSecretKey } from "node:crypto";
import { hmacCheck } from "../src/signature.ts";
import { createRandom } from "./support/random.ts";

const hashes = ["256", "384", "512"] as const;

describe("HMAC", () => {
  // RFC 4231, section 4: key, data, and the first bytes of the SHA-256, SHA-384 and SHA-512 digests.
  const published: readonly (readonly [string, Buffer, string, ...string[]])[] = [
    ["1", Buffer.alloc(20, 0x0b), "Hi There", "b0344c61d8db3853", "afd03944d8489562", "87aa7cdea5ef619d"],
    [
      "2",
      Buffer.from("Jefe"),
      "what do ya want for nothing?",
      "5bdcc146bf60754e",
      "af45d2e376484031",
      "164b7a7bfcf819e2",
    ],
    [
      "3",
      Buffer.alloc(20, 0xaa),
      "\xdd".repeat(50),
      "773ea91e36800e46",
      "88062608d3e6ad8a",
      "fa73b0089d56a284",
    ],
    [
      "6",
      Buffer.alloc(131, 0xaa),
      "Test Using Larger Than Block-Size Key - Hash Key First",
      "60e431591ee0b67f",
      "4ece084485813e90",
      "80b24263c7c1a3eb",
    ],
  ];
  for (const [number, key, data, ...digests] of published) {
    it(`accepts the digests of test case ${number} of RFC 4231 (AUTH-26)`, () => {
      for (const [index, bits] of hashes.entries()) {
        const digest = createHmac(`sha${bits}`, key).update(data, "latin1").digest();
        expect(digest.toString("hex").slice(0, 16)).to.equal(digests[index]);
        expect(hmacCheck(bits)(data, digest, createSecretKey(key))).to.equal(true);
      }
    });
  }

  it("agrees with node:crypto on keys and strings of any length, with alternating keys (AUTH-26)", () => {
    const random = createRandom(11);
    const bytes = (length: number): Buffer => Buffer.from(Array.from({ length }, () => random.whole(256)));
    for (const bits of hashes) {
      const check = hmacCheck(bits);
      for (const length of [1, 31, 32, 63, 64, 65, 127, 128, 129, 300]) {
        const [secret, other] = [bytes(length), bytes(length)];
        const [key, otherKey] = [createSecretKey(secret), createSecretKey(other)];
        for (const size of [0, 1, 55, 56, 64, 119, 128, 500, 8192]) {
          const text = bytes(size).toString("base64url").slice(0, size);
          const digest = createHmac(`sha${bits}`, secret).update(text).digest();
          expect(check(text, digest, key)).to.equal(true);
          expect(check(text, digest, otherKey)).to.equal(false);
          expect(check(`${text.slice(0, -1)}!`.slice(0, size), digest, key)).to.equal(size === 0);
        }
      }
    }
  });

  it("refuses a digest with another length or a changed bit, and a string longer than any token", () => {
    const secret = Buffer.alloc(32, 1);
    for (const bits of hashes) {
      const check = hmacCheck(bits);
      const key = createSecretKey(secret);
      const digest = createHmac(`sha${bits}`, secret).update("text").digest();
      expect(check("text", digest, key)).to.equal(true);
      for (let bit = 0; bit < digest.length * 8; bit++) {
        const flipped = Buffer.from(digest);
        flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(check("text", flipped, key)).to.equal(false);
      }
      expect(check("text", digest.subarray(1), key)).to.equal(false);
      expect(check("text", Buffer.concat([digest, Buffer.alloc(1)]), key)).to.equal(false);
      expect(check("text", Buffer.alloc(0), key)).to.equal(false);
      const long = "x".repeat(8193);
      expect(check(long, createHmac(`sha${bits}`, secret).update(long).digest(), key)).to.equal(false);
    }
  });
});
