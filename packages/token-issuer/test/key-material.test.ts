import { algorithms } from "@svc/jwt-auth";
import { generateKey, KeyRingError, newRing, readRing, thumbprint, writeRing } from "@svc/token-issuer";
import { expect } from "chai";
import { generateKeyPairSync, type JsonWebKey, randomBytes } from "node:crypto";
import { calculateJwkThumbprint } from "jose";
import { key, refusal, ring, start } from "./support/rings.ts";

/** Returns the text of a ring whose only key has the given members. */
async function textWith(algorithm: "RS256" | "ES256" | "EdDSA" | "HS256", members: object): Promise<string> {
  const value = JSON.parse(writeRing(await ring(algorithm))) as { keys: object[] };
  return JSON.stringify({ ...value, keys: [{ ...value.keys[0], ...members }] });
}

function jwkText(alg: string, jwk: JsonWebKey): Promise<string> {
  return textWith("RS256", { alg, jwk, kid: thumbprint(jwk) });
}

describe("key material", function () {
  // Generating RSA keys takes an unpredictable time.
  this.timeout(60_000);

  it("has the thumbprint of RFC 7638 section 3.1 for the example key (ISS-12)", () => {
    const jwk = {
      kty: "RSA",
      n:
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCi" +
        "FV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnY" +
        "b9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0" +
        "Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
      e: "AQAB",
      alg: "RS256",
      kid: "2011-04-29",
    };
    expect(thumbprint(jwk)).to.equal("NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
  });

  for (const algorithm of algorithms) {
    it(`can be generated for ${algorithm}, with the kid that jose computes (ISS-14)`, async () => {
      const drawn = await key(algorithm);
      const jwk = drawn.verifying.export({ format: "jwk" });
      expect(drawn).to.include({ algorithm, kid: await calculateJwkThumbprint(jwk as { kty: string }) });
      expect(drawn.signing?.type).to.equal(algorithm.startsWith("HS") ? "secret" : "private");
    });
  }

  it("is as long as the digest for a secret, and 2,048 bits or the given size for an RSA key", async () => {
    for (const bits of [256, 384, 512] as const) {
      const drawn = await key(`HS${bits}`);
      expect(drawn.verifying.symmetricKeySize).to.equal(bits / 8);
    }
    expect((await key("RS256")).verifying.asymmetricKeyDetails?.modulusLength).to.equal(2048);
    const longer = await generateKey({ algorithm: "PS512", rsaBits: 3072 });
    expect(longer.verifying.asymmetricKeyDetails?.modulusLength).to.equal(3072);
  });

  it("cannot be generated for an RSA key of fewer than 2,048 bits (AUTH-25)", async () => {
    const error: unknown = await generateKey({ rsaBits: 1024 }).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(KeyRingError).with.property("reason", "broken");
  });

  it("is generated without blocking the main thread", async () => {
    for (const algorithm of ["RS256", "ES256"] as const) {
      let isGenerated = false;
      const generated = generateKey({ algorithm }).finally(() => (isGenerated = true));
      // A key that the main thread generated would be ready after the pending promise callbacks. The result of another
      // thread arrives only in a later turn of the event loop.
      await Promise.resolve();
      await new Promise<void>((resolve) => process.nextTick(resolve));
      expect(isGenerated, algorithm).to.equal(false);
      expect(await generated).to.include({ algorithm });
    }
  });

  it("is rejected if an RSA key has fewer than 2,048 bits (AUTH-25)", async () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
    const text = await jwkText("RS256", privateKey.export({ format: "jwk" }));
    expect(refusal(() => readRing(text), "broken").message).to.contain("2048");
  });

  it("is rejected if the algorithm needs another key type or curve (AUTH-26)", async () => {
    const curve = (await key("ES384")).signing?.export({ format: "jwk" }) ?? {};
    for (const alg of ["ES256", "ES512", "RS256", "EdDSA"]) {
      const text = await jwkText(alg, curve);
      refusal(() => readRing(text), "broken");
    }
    const text = await textWith("ES256", { alg: "HS256" });
    expect(refusal(() => readRing(text), "broken").message).to.contain("needs a secret");
  });

  it("is rejected if a private key is combined with the public half of another key", async () => {
    const [one, other] = [await key("ES256"), await key("ES256", 1)].map((each) =>
      each.signing?.export({ format: "jwk" }),
    );
    const text = await jwkText("ES256", { ...one, d: other?.d ?? "" });
    refusal(() => readRing(text), "broken");
    const [first, second] = [await key("EdDSA"), await key("EdDSA", 1)].map((each) =>
      each.signing?.export({ format: "jwk" }),
    );
    const mixed = await jwkText("EdDSA", { ...first, d: second?.d ?? "" });
    refusal(() => readRing(mixed), "broken");
  });

  it("is rejected in prod, and accepted elsewhere, if a secret has fewer than 32 bytes (AUTH-31)", async () => {
    const text = await jwkText("HS256", { kty: "oct", k: randomBytes(31).toString("base64url") });
    expect(refusal(() => readRing(text), "broken").message).to.contain("at least 32");
    expect(readRing(text, "dev").keys[0]?.algorithm).to.equal("HS256");
  });

  it("is rejected in every environment, without being shown, if a secret is a PEM (AUTH-32)", async () => {
    const pem = (await key("RS256")).verifying.export({ type: "spki", format: "pem" }).toString();
    const text = await jwkText("HS256", { kty: "oct", k: Buffer.from(pem).toString("base64url") });
    for (const env of ["prod", "local"] as const) {
      const { message } = refusal(() => readRing(text, env), "broken");
      expect(message).to.contain("a PEM").and.not.contain("BEGIN");
    }
  });

  it("is rejected if its kid is not its thumbprint", async () => {
    const text = await textWith("ES256", { kid: (await key("ES256", 1)).kid });
    refusal(() => readRing(text), "broken");
  });

  it("is rejected if a current key has no private half", async () => {
    const jwk = (await key("ES256")).verifying.export({ format: "jwk" });
    const text = await textWith("ES256", { jwk });
    expect(refusal(() => readRing(text), "broken").message).to.contain("needs the private one");
  });

  const retired = {
    state: "retired",
    kid: "A".repeat(43),
    retired_at: "2030-01-01T00:00:00.000Z",
    jwk: undefined,
  };
  const faults: readonly [string, (value: { keys: object[] }) => unknown][] = [
    ["a list", () => []],
    ["null", () => null],
    ["a string", () => "keys"],
    ["another version", (value) => ({ ...value, version: 2 })],
    ["no keys", (value) => ({ ...value, keys: undefined })],
    ["an empty list of keys", (value) => ({ ...value, keys: [] })],
    ["no lifetimes", (value) => ({ ...value, lifetimes: undefined })],
    ["a lifetime that is not a number", (value) => ({ ...value, lifetimes: { access_seconds: "900" } })],
    [
      "a lifetime of 0",
      (value) => ({ ...value, lifetimes: { access_seconds: 900, refresh_seconds: 0, leeway_seconds: 0 } }),
    ],
    ["a key that is null", (value) => ({ ...value, keys: [null] })],
    [
      "the same key twice",
      (value) => ({ ...value, keys: [value.keys[0], { ...value.keys[0], state: "next" }] }),
    ],
    ["two current keys", (value) => ({ ...value, keys: [value.keys[0], value.keys[0]] })],
    ["no current key", (value) => ({ ...value, keys: [{ ...value.keys[0], state: "next" }] })],
    ["only a retired key", (value) => ({ ...value, keys: [{ ...value.keys[0], ...retired }] })],
    ["an unknown state", (value) => ({ ...value, keys: [{ ...value.keys[0], state: "best" }] })],
    ["an unsupported algorithm", (value) => ({ ...value, keys: [{ ...value.keys[0], alg: "none" }] })],
    ["a malformed date", (value) => ({ ...value, keys: [{ ...value.keys[0], published_at: "soon" }] })],
    [
      "a key without the date of its publication",
      (value) => ({ ...value, keys: [{ ...value.keys[0], published_at: undefined }] }),
    ],
    [
      "a replaced key without the date of its replacement",
      (value) => ({ ...value, keys: [{ ...value.keys[0], state: "previous" }] }),
    ],
    ["a key without key material", (value) => ({ ...value, keys: [{ ...value.keys[0], jwk: undefined }] })],
    [
      "a key that cannot be read",
      (value) => ({ ...value, keys: [{ ...value.keys[0], jwk: { kty: "EC", d: "x" } }] }),
    ],
    ["a kid that is not a thumbprint", (value) => ({ ...value, keys: [{ ...value.keys[0], kid: "first" }] })],
    ["1,001 keys", (value) => ({ ...value, keys: Array(1001).fill(value.keys[0]) })],
  ];
  for (const [what, change] of faults) {
    it(`is rejected in an invalid ring: ${what}`, async () => {
      const document = newRing(await key(), start);
      const text = writeRing(document);
      const d = document.keys[0]?.signing?.export({ format: "jwk" }).d ?? "";
      const changed = JSON.stringify(change(JSON.parse(text) as { keys: object[] }));
      expect(refusal(() => readRing(changed), "broken").message).to.not.contain(d);
    });
  }

  it("is rejected if its string is too long or is not JSON, and the error does not quote the string", () => {
    expect(refusal(() => readRing("hunter2"), "broken").message).to.equal("the key ring is not JSON");
    refusal(() => readRing(" ".repeat(1_048_577)), "broken");
  });

  it("is rejected in a ring that mixes secrets and key pairs", async () => {
    const [pairs, secrets] = [await ring(), await ring("HS256")].map(
      (each) => JSON.parse(writeRing(each)) as { keys: object[] },
    );
    const mixed = { ...pairs, keys: [pairs?.keys[0], { ...secrets?.keys[0], state: "next" }] };
    expect(refusal(() => readRing(JSON.stringify(mixed)), "broken").message).to.contain("mixes");
  });
});
