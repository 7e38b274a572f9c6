import { algorithms, createVerifier } from "@svc/jwt-auth";
import { ConfigurationError } from "@svc/options";
import {
  addKey,
  createKeyRing,
  generateKey,
  KeyRingError,
  newRing,
  promoteKey,
  retireKey,
  writeRing,
} from "@svc/token-issuer";
import { expect } from "chai";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { compactVerify, decodeProtectedHeader } from "jose";
import { claims, key, keyPairAlgorithms, refusal, ring, start } from "./support/rings.ts";

const day = 86_400_000;
const settled = start + 120_000;
const signal = new AbortController().signal;

/** Returns a ring with one previous, one current and one next key. */
async function wholeRing(
  algorithm: "ES256" | "RS256" | "EdDSA" | "HS256" = "ES256",
): ReturnType<typeof ring> {
  const promoted = promoteKey(addKey(await ring(algorithm), await key(algorithm, 1), start), settled);
  return addKey(promoted, await key(algorithm, 2), settled);
}

describe("createKeyRing()", function () {
  // Generating RSA keys, eighteen in one test, takes an unpredictable time.
  this.timeout(60_000);

  for (const algorithm of algorithms) {
    it(`signs tokens with ${algorithm} that its own verifier and jose accept (ISS-12, ISS-14)`, async () => {
      const keys = createKeyRing({ text: writeRing(await ring(algorithm)) });
      const token = await keys.signer().sign(claims(Date.now()));
      const { kid } = await key(algorithm);
      expect(decodeProtectedHeader(token)).to.deep.equal({ alg: algorithm, kid, typ: "JWT" });
      expect(await createVerifier({ keys }).verify(token)).to.have.nested.property(
        "principal.subject",
        "ada",
      );
      const verifying = keys.find(kid, algorithm);
      expect(verifying).to.not.equal(undefined);
      if (verifying !== undefined) await compactVerify(token, verifying);
    });
  }

  it("signs bytes in the signature format of RFC 7518, and knows the length of a signature", async () => {
    const lengths = { HS256: 32, ES256: 64, ES384: 96, ES512: 132, EdDSA: 64, PS256: 256 } as const;
    for (const [algorithm, length] of Object.entries(lengths)) {
      const keys = createKeyRing({ text: writeRing(await ring(algorithm as keyof typeof lengths)) });
      expect(await keys.signer().signBytes(randomBytes(100))).to.have.length(length);
      expect(keys.signer().signatureBytes, algorithm).to.equal(length);
    }
  });

  it("writes claims with any content and structure unchanged", async () => {
    const keys = createKeyRing({ text: writeRing(await ring("HS256")) });
    const given = { sub: "Zoë 🚀", list: [1, { a: null }] };
    const token = await keys.signer().sign(given);
    expect(JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())).to.deep.equal(given);
  });

  it("finds next, current and previous keys, and signs only with the current key (KEY-3)", async () => {
    const document = await wholeRing();
    const keys = createKeyRing({ text: writeRing(document) });
    const [previous, current, next] = document.keys.map((each) => each.kid);
    for (const kid of [previous, current, next]) expect(keys.find(kid, "ES256")?.type).to.equal("public");
    expect(keys.signer()).to.include({ kid: current, algorithm: "ES256" });
    expect(keys.list().map(({ kid, state }) => [kid, state])).to.deep.equal([
      [current, "current"],
      [next, "next"],
      [previous, "previous"],
    ]);
  });

  it("finds no key for another algorithm, an unknown kid or a retired key", async () => {
    const document = await wholeRing();
    const kid = document.keys[0]?.kid ?? "";
    const keys = createKeyRing({ text: writeRing(retireKey(document, kid, settled, { immediately: true })) });
    expect(keys.find(kid, "ES256")).to.equal(undefined);
    expect(keys.find("other", "ES256")).to.equal(undefined);
    expect(keys.find(document.keys[1]?.kid, "ES384")).to.equal(undefined);
  });

  it("accepts a token without kid only while the ring has a single key (KEY-11)", async () => {
    const [one, three] = [await ring(), await wholeRing()];
    expect(createKeyRing({ text: writeRing(one) }).find(undefined, "ES256")).to.not.equal(undefined);
    expect(createKeyRing({ text: writeRing(one) }).find(undefined, "ES384")).to.equal(undefined);
    expect(createKeyRing({ text: writeRing(three) }).find(undefined, "ES256")).to.equal(undefined);
  });

  it("publishes next, current and previous keys, sorted, with use, alg and kid (ISS-15)", async () => {
    const document = addKey(
      promoteKey(addKey(await ring("RS256"), await key("ES384"), start), settled),
      await key("EdDSA"),
      settled,
    );
    const published = createKeyRing({ text: writeRing(document) }).jwks();
    const kids = published?.keys.map((each) => each["kid"]);
    expect(kids).to.deep.equal(document.keys.map((each) => each.kid).sort());
    for (const jwk of published?.keys ?? []) {
      expect(jwk["use"]).to.equal("sig");
      expect(jwk["alg"]).to.equal(document.keys.find((each) => each.kid === jwk["kid"])?.algorithm);
    }
    expect(JSON.parse(published?.body ?? "")).to.deep.equal({ keys: published?.keys });
  });

  it("publishes no private member, for every kind and state of a key (ISS-15)", async () => {
    for (const algorithm of keyPairAlgorithms) {
      const promoted = promoteKey(addKey(await ring(algorithm), await key(algorithm, 1), start), settled);
      const document = addKey(promoted, await key(algorithm, 2), settled);
      const published = createKeyRing({ text: writeRing(document) }).jwks();
      expect(published?.keys).to.have.length(3);
      for (const jwk of published?.keys ?? [])
        for (const member of ["d", "p", "q", "dp", "dq", "qi", "oth", "k"])
          expect(jwk, algorithm).to.not.have.property(member);
      for (const each of document.keys) {
        const d = each.signing?.export({ format: "jwk" }).d;
        if (d !== undefined) expect(published?.body).to.not.contain(d);
      }
    }
  });

  it("changes the entity tag with the key set, and allows caching for a minute (ISS-15)", async () => {
    const before = await ring();
    const keys = createKeyRing({ text: writeRing(before) });
    const first = keys.jwks();
    expect(first).to.include({ cacheControl: "public, max-age=60" });
    expect(first?.etag).to.match(/^"[\w-]{43}"$/);
    expect(keys.jwks(), "it was made twice").to.equal(first);
    keys.load(writeRing(before));
    expect(keys.jwks()?.etag).to.equal(first?.etag);
    keys.load(writeRing(addKey(before, await key("ES256", 1), start)));
    expect(keys.jwks()?.etag).to.not.equal(first?.etag);
  });

  it("publishes no key set for a ring of secrets (ISS-15)", async () => {
    expect(createKeyRing({ text: writeRing(await wholeRing("HS256")) }).jwks()).to.equal(undefined);
    expect(createKeyRing({ secret: randomBytes(32) }).jwks()).to.equal(undefined);
  });

  it("with refreshTokensStayHere, keeps a replaced key but publishes it only for the lifetime of access tokens (KEY-3)", async () => {
    let now = settled;
    const document = promoteKey(addKey(await ring(), await key("ES256", 1), start), settled);
    const text = writeRing(document);
    const here = createKeyRing({ text, refreshTokensStayHere: true, now: () => now });
    const elsewhere = createKeyRing({ text, now: () => now });
    // The sum of 15 minutes, 30 s of leeway and 120 s until every replica signs with the new key.
    now = settled + 1_050_000 - 1;
    expect(here.jwks()?.keys).to.have.length(2);
    now += 1;
    expect(here.jwks()?.keys).to.have.length(1);
    expect(here.find(document.keys[0]?.kid, "ES256")).to.not.equal(undefined);
    expect(elsewhere.jwks()?.keys).to.have.length(2);
  });

  it("increments the generation for every change of the keys, but not when the same text is loaded again", async () => {
    const before = await ring();
    const keys = createKeyRing({ text: writeRing(before) });
    const first = keys.find(before.keys[0]?.kid, "ES256");
    keys.load(writeRing(before));
    expect(keys.generation).to.equal(0);
    const added = addKey(before, await key("ES256", 1), start);
    keys.load(writeRing(added));
    expect(keys.generation).to.equal(1);
    expect(keys.find(before.keys[0]?.kid, "ES256"), "a key became another object").to.equal(first);
    keys.load(writeRing(promoteKey(added, settled)));
    expect(keys.generation).to.equal(2);
  });

  it("rejects a key's cached tokens as soon as the key is retired", async () => {
    const document = await wholeRing();
    const keys = createKeyRing({ text: writeRing(document) });
    const verifier = createVerifier({ keys });
    const token = await keys.signer().sign(claims(Date.now()));
    expect(await verifier.verify(token)).to.have.property("principal");
    expect(verifier.cachedTokens).to.equal(1);
    const current = keys.signer().kid;
    keys.load(writeRing(retireKey(document, current, settled, { immediately: true })));
    expect(await verifier.verify(token)).to.include({ reason: "unknown_key" });
  });

  it("keeps its keys when it loads unusable text", async () => {
    const keys = createKeyRing({ text: writeRing(await ring()) });
    const { kid } = keys.signer();
    refusal(() => keys.load("{"), "broken");
    const secrets = writeRing(await ring("HS256"));
    expect(refusal(() => keys.load(secrets), "broken").message).to.contain("restart the service");
    expect(keys.signer().kid).to.equal(kid);
    expect(keys.generation).to.equal(0);
  });

  it("lets an existing verifier accept a new key with another algorithm", async () => {
    const before = await ring("RS256");
    const keys = createKeyRing({ text: writeRing(before) });
    const verifier = createVerifier({ keys });
    keys.load(writeRing(promoteKey(addKey(before, await key("EdDSA"), start), settled)));
    const token = await keys.signer().sign(claims(Date.now()));
    expect(decodeProtectedHeader(token).alg).to.equal("EdDSA");
    expect(await verifier.verify(token)).to.have.nested.property("principal.subject", "ada");
  });

  it("accepts one private key as a PEM, and detects its algorithm (ISS-14)", async () => {
    const expected = {
      RS256: "RS256",
      PS256: "RS256",
      ES256: "ES256",
      ES384: "ES384",
      ES512: "ES512",
      EdDSA: "EdDSA",
    };
    for (const [algorithm, usual] of Object.entries(expected)) {
      const drawn = await key(algorithm as keyof typeof expected);
      const privateKey = drawn.signing?.export({ type: "pkcs8", format: "pem" }).toString() ?? "";
      const keys = createKeyRing({ privateKey: privateKey.replaceAll("\n", "\\n") });
      expect(keys.signer()).to.include({ algorithm: usual, kid: drawn.kid });
      expect(keys.jwks()?.keys).to.have.length(1);
      const { accessSeconds, refreshSeconds, leewaySeconds } = keys.lifetimes;
      expect([accessSeconds, refreshSeconds, leewaySeconds]).to.eql([Infinity, Infinity, Infinity]);
    }
    const pem = (await key("PS256")).signing?.export({ type: "pkcs8", format: "pem" }).toString() ?? "";
    expect(createKeyRing({ privateKey: pem, algorithm: "PS256" }).signer().algorithm).to.equal("PS256");
  });

  it("accepts one secret, as a string or bytes (ISS-14)", async () => {
    for (const secret of ["x".repeat(32), randomBytes(64)]) {
      const keys = createKeyRing({ secret, algorithm: "HS512" });
      const token = await keys.signer().sign(claims(Date.now()));
      expect(await createVerifier({ keys }).verify(token)).to.have.property("principal");
    }
    expect(createKeyRing({ secret: "short", env: "dev" }).signer().algorithm).to.equal("HS256");
  });

  it("rejects a secret that is short in prod, empty, or a PEM, without showing it (AUTH-31, AUTH-32)", () => {
    const pem = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }).toString();
    for (const secret of ["hunter2hunter2", "", pem]) {
      expect(() => createKeyRing({ secret }))
        .to.throw(ConfigurationError, /secret: cannot be used/)
        .with.property("message")
        .that.does.not.match(/hunter2|BEGIN/);
    }
    expect(() => createKeyRing({ secret: pem, env: "local" })).to.throw(ConfigurationError, /a PEM/);
  });

  it("rejects a private key that is short, public, of an unknown type or malformed, without showing it (AUTH-25)", () => {
    const short = generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey;
    const other = generateKeyPairSync("x25519").privateKey;
    const { publicKey } = generateKeyPairSync("ed25519");
    const pems = [short, other].map((each) => each.export({ type: "pkcs8", format: "pem" }).toString());
    for (const privateKey of [
      ...pems,
      publicKey.export({ type: "spki", format: "pem" }).toString(),
      "hunter2",
    ]) {
      expect(() => createKeyRing({ privateKey }))
        .to.throw(ConfigurationError, /privateKey: cannot be used/)
        .with.property("message")
        .that.does.not.match(/hunter2|BEGIN/);
    }
  });

  it("rejects a missing or second key source, unknown options, and an algorithm that does not fit the source", async () => {
    const text = writeRing(await ring());
    const secret = "x".repeat(32);
    const faults: readonly [object, RegExp][] = [
      [{}, /must have one of text, file, privateKey and secret/],
      [{ text, secret }, /secret: cannot be combined with text/],
      [{ text, algorithm: "ES256" }, /algorithm: must be left out/],
      [{ secret, algorithm: "RS256" }, /must be HS256, HS384 or HS512 with a secret/],
      [{ secret, algorithm: "none" }, /must not contain "none"/],
      [{ text, rotateAfterDays: 0 }, /rotateAfterDays: must be a number from 1/],
      [{ text, pollSeconds: 31 }, /pollSeconds/],
      [{ text, files: "x" }, /files: is unknown; did you mean file/],
    ];
    for (const [options, message] of faults)
      expect(() => createKeyRing(options as Parameters<typeof createKeyRing>[0])).to.throw(
        ConfigurationError,
        message,
      );
    refusal(() => createKeyRing({ text: "{}" }), "broken");
  });

  it("reports the age of the current key, asks for a new key after rotateAfterDays, and is never critical (RDY-11)", async () => {
    let now = start;
    const keys = createKeyRing({ text: writeRing(await ring()), now: () => now, rotateAfterDays: 90 });
    const check = keys.readiness?.();
    expect(check).to.include({ name: "signing-keys", critical: false });
    expect(await check?.check(signal)).to.deep.equal({
      healthy: true,
      detail: "the current key has signed with ES256 for 0 days",
      meta: { keyAgeDays: 0, keys: 1 },
    });
    now += 90 * day;
    expect(await check?.check(signal)).to.deep.equal({
      healthy: true,
      detail: "the current key has signed with ES256 for 90 days; it is time to add the next key",
      meta: { keyAgeDays: 90, keys: 1 },
    });
    const fixed = createKeyRing({ secret: "x".repeat(32) }).readiness();
    expect(await fixed.check(signal)).to.deep.include({ healthy: true });
  });

  it("changes its keys even if its logger throws", async () => {
    const fail = (): never => {
      throw new Error("full");
    };
    const logger = { debug: fail, info: fail, warn: fail, error: fail, fatal: fail };
    const before = await ring();
    const keys = createKeyRing({ text: writeRing(before), logger });
    keys.load(writeRing(addKey(before, await key("ES256", 1), start)));
    expect(keys.generation).to.equal(1);
  });

  it("accepts a ring that an application creates and stores itself", async () => {
    const text = writeRing(newRing(await generateKey({ algorithm: "EdDSA" }), Date.now()));
    expect(createKeyRing({ text }).signer().algorithm).to.equal("EdDSA");
    expect(() => createKeyRing({ text: text.slice(1) })).to.throw(KeyRingError, "is not JSON");
  });
});
