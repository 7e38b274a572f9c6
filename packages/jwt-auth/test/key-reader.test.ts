import { createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import { expect } from "chai";
import { createKeyReader } from "../src/key-reader.ts";
import { jwkOf } from "./support/issuer.ts";
import { keyFixture, pemOf } from "./support/key-fixtures.ts";

const read = createKeyReader("prod");

/** Returns the key objects that are read from a value; a second read of a cached text returns the same objects. */
function keysOf(given: unknown): readonly KeyObject[] {
  const found = read(given);
  if (typeof found === "string") throw new Error(found);
  return found.keys.map(({ key }) => key);
}

/** Returns a JWK with a modulus of this length. */
function longJwk(bits: number): JsonWebKey {
  const n = Buffer.alloc(bits / 8, 0xff).toString("base64url");
  return { ...jwkOf("rsa2048"), n };
}

describe("a reader of keys", () => {
  it("caches the key of a PEM and of a JWK", () => {
    for (const given of [pemOf("rsa2048"), jwkOf("rsa2048"), { keys: [jwkOf("p256")] }])
      expect(keysOf(given)[0]).to.equal(keysOf(structuredClone(given))[0]);
  });

  it("reads a long PEM without caching its key", () => {
    const long = pemOf("rsa2048").replace("\n", `\n${" ".repeat(8_192)}\n`);
    expect(keysOf(long)[0]?.equals(keyFixture("rsa2048").publicKey)).to.equal(true);
    expect(keysOf(long)[0]).to.not.equal(keysOf(long)[0]);
  });

  it("does not cache a key that fits no algorithm (AUTH-25)", () => {
    const short = keyFixture("rsa1024").publicKey;
    for (const given of [jwkOf("rsa1024"), short.export({ format: "pem", type: "spki" })])
      expect(keysOf(given)[0]).to.not.equal(keysOf(given)[0]);
  });

  it("reads a JWK of up to 16,384 bits, and rejects a longer one without creating a key object", () => {
    expect(keysOf(longJwk(16_384))[0]?.asymmetricKeyDetails?.modulusLength).to.equal(16_384);
    expect(() => createPublicKey({ key: longJwk(16_400), format: "jwk" })).to.not.throw();
    expect(read(longJwk(16_400))).to.match(/^is not a public JWK for signatures/);
    const exponent = { ...jwkOf("rsa2048"), e: "B".repeat(2_733) };
    expect(read({ keys: [longJwk(16_400), exponent] })).to.equal("is a JWK set without a usable key");
  });

  it("reports a set as cut off if it has more than 64 keys for the wanted algorithms", () => {
    const keys = Array.from({ length: 65 }, (_, index) => jwkOf("p256", { kid: `${index}` }));
    for (const [wanted, cut] of [
      [undefined, true],
      [["ES256"], true],
      [["RS256"], false],
    ] as const)
      expect(createKeyReader("prod", wanted)({ keys })).to.include({ cut });
    expect(read({ keys: keys.slice(1) })).to.include({ cut: false });
  });
});
