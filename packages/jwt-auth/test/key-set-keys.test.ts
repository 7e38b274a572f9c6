import { type Algorithm, createKeySetSource, KeySetError } from "@svc/jwt-auth";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import fc from "fast-check";
import { issuer, jwkOf } from "./support/issuer.ts";
import { keyFixture } from "./support/key-fixtures.ts";

const asymmetric: readonly Algorithm[] = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
];

/** Returns a source that has fetched these keys. */
async function fetched(
  keys: readonly unknown[],
  algorithms: readonly Algorithm[] = asymmetric,
): Promise<ReturnType<typeof createKeySetSource>> {
  await using server = await issuer(...keys);
  const source = createKeySetSource({ url: server.url, env: "local", algorithms });
  await source.refresh("whatever", algorithms[0] ?? "RS256");
  source.stop();
  return source;
}

/** Returns the algorithms that the key with this id verifies. */
function servedBy(
  source: { find(kid: string | undefined, algorithm: Algorithm): unknown },
  kid?: string,
): string[] {
  return asymmetric.filter((each) => source.find(kid, each) !== undefined);
}

async function refused(...keys: readonly unknown[]): Promise<void> {
  const error = await rejection(fetched(keys));
  expect(error.reason).to.equal("the key set has no usable key");
}

const good = jwkOf("p384", { kid: "good" });

describe("createKeySetSource() with a published key set", () => {
  it("uses a key with the alg Ed25519, the name of RFC 9864, for EdDSA", async () => {
    const source = await fetched([jwkOf("ed25519", { alg: "Ed25519" })]);
    expect(servedBy(source, "ed25519")).to.deep.equal(["EdDSA"]);
    await refused(jwkOf("p256", { alg: "Ed25519" }));
  });

  it("uses a key without alg for all configured algorithms of its type (AUTH-26)", async () => {
    const keys = [jwkOf("rsa2048"), jwkOf("p256"), jwkOf("p384"), jwkOf("p521"), jwkOf("ed25519")];
    const all = await fetched(keys);
    expect(servedBy(all, "rsa2048")).to.deep.equal(asymmetric.slice(0, 6));
    expect(servedBy(all, "p256")).to.deep.equal(["ES256"]);
    expect(servedBy(all, "p384")).to.deep.equal(["ES384"]);
    expect(servedBy(all, "p521")).to.deep.equal(["ES512"]);
    expect(servedBy(all, "ed25519")).to.deep.equal(["EdDSA"]);
    const some = await fetched(keys, ["RS256", "EdDSA"]);
    expect(servedBy(some, "rsa2048")).to.deep.equal(["RS256"]);
    expect(servedBy(some, "p256")).to.deep.equal([]);
    expect(servedBy(some, "ed25519")).to.deep.equal(["EdDSA"]);
  });

  it("uses a key with alg for that algorithm only (KEY-12)", async () => {
    const source = await fetched([jwkOf("rsa2048", { alg: "PS384" })]);
    expect(servedBy(source, "rsa2048")).to.deep.equal(["PS384"]);
  });

  it("skips keys that cannot verify a signature, and imports the remaining keys (KEY-12)", async () => {
    const others: readonly object[] = [
      jwkOf("p256", { use: "enc" }),
      jwkOf("p256", { use: null }),
      jwkOf("p256", { use: ["sig"] }),
      jwkOf("p256", { alg: "ES384" }),
      jwkOf("p256", { alg: "ECDH-ES" }),
      jwkOf("p256", { alg: "none" }),
      jwkOf("p256", { alg: "HS256" }),
      jwkOf("p256", { alg: ["ES256"] }),
      jwkOf("p256", { key_ops: ["sign"] }),
      jwkOf("p256", { key_ops: [] }),
      jwkOf("p256", { key_ops: "verify" }),
      jwkOf("p256", { kid: 1 }),
      jwkOf("p256", { kid: "k".repeat(257) }),
      jwkOf("p256", { kty: "RSA" }),
      jwkOf("p256", { kty: "ec" }),
      jwkOf("p256", { crv: "P-384" }),
      // These values throw when converted to text.
      jwkOf("p256", { kty: { toString: 1, valueOf: 1 } }),
      jwkOf("p256", { crv: { toString: null, valueOf: null } }),
      jwkOf("secp256k1"),
      jwkOf("ed448"),
      { kty: "oct", kid: "p256", k: Buffer.alloc(32).toString("base64url") },
      { kty: "oct", kid: "p256", alg: "HS256", k: Buffer.alloc(32).toString("base64url") },
    ];
    for (const other of others) {
      const source = await fetched([other, good]);
      expect(servedBy(source, "good"), JSON.stringify(other)).to.deep.equal(["ES384"]);
      // A token without kid gets the only usable key of the set.
      expect(servedBy(source), JSON.stringify(other)).to.deep.equal(["ES384"]);
      expect(servedBy(source, "p256"), JSON.stringify(other)).to.deep.equal([]);
      await refused(other);
    }
  });

  it("imports a key with use sig and with verify in key_ops (KEY-12)", async () => {
    const source = await fetched([jwkOf("p256", { use: "sig", key_ops: ["sign", "verify"], alg: "ES256" })]);
    expect(servedBy(source, "p256")).to.deep.equal(["ES256"]);
  });

  it("skips a published private key", async () => {
    const { privateKey } = keyFixture("p256");
    const rsa = keyFixture("rsa2048").privateKey.export({ format: "jwk" });
    await refused({ ...privateKey.export({ format: "jwk" }), kid: "p256" }, { ...rsa, kid: "rsa" });
    await refused(jwkOf("rsa2048", { d: null }));
  });

  it("skips an RSA key of fewer than 2,048 bits (AUTH-25)", async () => {
    await refused(jwkOf("rsa1024"));
    const source = await fetched([jwkOf("rsa1024", { kid: "weak" }), good]);
    expect(servedBy(source, "weak")).to.deep.equal([]);
  });

  it("skips every key with invalid parameters", async () => {
    const zeros = Buffer.alloc(32).toString("base64url");
    const broken: readonly object[] = [
      jwkOf("rsa2048", { n: "" }),
      jwkOf("rsa2048", { n: 5 }),
      jwkOf("rsa2048", { n: "AQAB" }),
      jwkOf("rsa2048", { e: "AQ" }),
      jwkOf("rsa2048", { e: "BA" }),
      jwkOf("rsa2048", { n: "x".repeat(4096) }),
      jwkOf("rsa2048", { e: "!" }),
      jwkOf("rsa2048", { e: undefined }),
      jwkOf("p256", { x: zeros }),
      jwkOf("p256", { y: "AA" }),
      jwkOf("p256", { y: undefined }),
      jwkOf("ed25519", { x: "AA" }),
      jwkOf("ed25519", { x: {} }),
    ];
    for (const each of broken) await refused(each);
    const source = await fetched([...broken, good]);
    expect(servedBy(source)).to.deep.equal(["ES384"]);
  });

  it("finds the only key of a set for a token without kid (KEY-11)", async () => {
    expect(servedBy(await fetched([jwkOf("p256")]))).to.deep.equal(["ES256"]);
    expect(servedBy(await fetched([jwkOf("p256", { kid: undefined })]))).to.deep.equal(["ES256"]);
    expect(servedBy(await fetched([jwkOf("p256"), jwkOf("p256")]))).to.deep.equal(["ES256"]);
  });

  it("finds no key for a token without kid when the set has two keys of any type (KEY-11)", async () => {
    for (const other of [jwkOf("ed25519"), jwkOf("otherP256"), jwkOf("otherP256", { kid: undefined })]) {
      expect(servedBy(await fetched([jwkOf("p256"), other]))).to.deep.equal([]);
    }
  });

  it("does not use a key without kid for a token with a kid (KEY-11)", async () => {
    const source = await fetched([jwkOf("p256", { kid: undefined }), good]);
    expect(servedBy(source, "undefined")).to.deep.equal([]);
    expect(servedBy(source, "good")).to.deep.equal(["ES384"]);
  });

  it("uses the first of two keys with the same kid for the algorithms that both fit (CLAIM-6)", async () => {
    const source = await fetched([
      jwkOf("p256", { kid: "same" }),
      jwkOf("rsa2048", { kid: "same", alg: "RS256" }),
      jwkOf("otherP256", { kid: "same" }),
      jwkOf("otherRsa2048", { kid: "same" }),
    ]);
    expect(source.find("same", "ES256")?.equals(keyFixture("p256").publicKey)).to.equal(true);
    expect(source.find("same", "RS256")?.equals(keyFixture("rsa2048").publicKey)).to.equal(true);
    expect(source.find("same", "PS256")?.equals(keyFixture("otherRsa2048").publicKey)).to.equal(true);
    expect(servedBy(source)).to.deep.equal([]);
  });

  it("imports the first 64 keys that look usable", async () => {
    const many = Array.from({ length: 100 }, (_, index) => jwkOf("p256", { kid: `${index}` }));
    const rubbish = Array.from({ length: 100 }, () => ({ kty: "oct", k: "AAAA" }));
    const source = await fetched([...rubbish, ...many]);
    expect(source.find("63", "ES256")).not.to.equal(undefined);
    expect(source.find("64", "ES256")).to.equal(undefined);
  });

  it("returns usable keys or throws a KeySetError for any published document (KEY-12)", async () => {
    const members = Object.keys({ ...jwkOf("rsa2048"), ...jwkOf("p256"), alg: 0, use: 0, key_ops: 0, d: 0 });
    const value = fc.oneof(
      fc.constantFrom(
        "RSA",
        "EC",
        "OKP",
        "oct",
        "P-256",
        "Ed25519",
        "RS256",
        "ES256",
        "sig",
        "verify",
        "AQAB",
      ),
      fc.base64String(),
      fc.jsonValue(),
    );
    const made = fc.dictionary(fc.constantFrom(...members), value);
    const bent = fc.tuple(fc.constantFrom(jwkOf("rsa2048"), jwkOf("p256"), jwkOf("ed25519")), made);
    const key = fc.oneof(
      fc.jsonValue(),
      made,
      bent.map(([jwk, other]) => ({ ...jwk, ...other })),
    );
    const document = fc.oneof(fc.jsonValue(), fc.record({ keys: fc.array(key, { maxLength: 4 }) }));
    await fc.assert(
      fc.asyncProperty(document, async (published) => {
        const answer: typeof fetch = () => Promise.resolve(Response.json(published));
        const url = "https://issuer.test/jwks";
        using source = createKeySetSource({ url, algorithms: asymmetric, fetch: answer, attempts: 1 });
        try {
          await source.refresh("whatever", "RS256");
          expect(source.generation).to.equal(1);
        } catch (error) {
          expect(error).to.be.instanceOf(KeySetError);
          expect(source.generation).to.equal(0);
        }
      }),
      { numRuns: 500 },
    );
  });
});
