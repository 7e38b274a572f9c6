import { expect } from "chai";
import fc from "fast-check";
import { anyCharacter } from "@svc/test-support/any-character";
import { algorithms, createVerifier, refusalReasons, type Verifier } from "@svc/jwt-auth";
import { parseToken } from "../src/token-parser.ts";
import { asymmetric, symmetric } from "./hostile/hostile-token.ts";
import { everyKey } from "./support/fixed-keys.ts";
import { base64url, forge, now } from "./support/forge.ts";

// A fixed seed makes the same strings in every run, so that failures are reproducible.
const settings = { seed: 20_261_121, numRuns: 2000 } as const;
const every = new Set<string>(algorithms);

/**
 * Strings that resemble tokens to different degrees: arbitrary strings, three random parts, three parts of encoded JSON,
 * and valid tokens with a changed character.
 */
const texts: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 300 }),
  fc.stringMatching(/^[\w-]{0,80}\.[\w-]{0,80}\.[\w-]{0,80}$/),
  fc.tuple(fc.json(), fc.json(), fc.string()).map((parts) => parts.map((each) => base64url(each)).join(".")),
  fc
    .tuple(fc.constantFrom(...algorithms), fc.dictionary(fc.string(), fc.jsonValue()))
    .map(([alg, claims]) => {
      return [JSON.stringify({ alg }), JSON.stringify(claims), "signature"]
        .map((each) => base64url(each))
        .join(".");
    }),
  fc.tuple(fc.nat(600), fc.string({ unit: anyCharacter, maxLength: 3 })).map(([at, what]) => {
    const token = forge({ algorithm: "HS256" });
    return token.slice(0, at) + what + token.slice(at + 1);
  }),
);

describe("any input", () => {
  it("is parsed or refused, and never makes parseToken() throw (AUTH-21)", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const parsed = parseToken(text, every);
        if (parsed.reason !== undefined) expect(refusalReasons).to.include(parsed.reason);
        else expect(`${parsed.signed}.${base64url(parsed.signature)}`).to.equal(text);
      }),
      settings,
    );
  });

  it("is accepted or refused, and never makes verify() throw or reject (AUTH-11)", async () => {
    const verifiers = createVerifiers();
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        for (const verifier of verifiers) {
          const found = await verifier.verify(text);
          if (found.reason !== undefined) expect(refusalReasons).to.include(found.reason);
          else expect(text).to.equal(forge({ algorithm: "HS256" }));
        }
      }),
      settings,
    );
  });

  it("is refused when it is not a string (AUTH-11)", async () => {
    for (const value of [undefined, null, 7, {}, [], Symbol("token"), Buffer.from(forge())]) {
      for (const verifier of createVerifiers()) {
        const found = await (verifier as { verify(token: unknown): ReturnType<Verifier["verify"]> }).verify(
          value,
        );
        expect(found.reason).to.equal("malformed");
      }
    }
  });
});

describe("a valid token", () => {
  const claims = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 }).map((given) => {
    const reserved = ["sub", "exp", "iat", "nbf", "iss", "aud", "jti", "fam", "typ", "__proto__"];
    return Object.fromEntries(Object.entries(given).filter(([name]) => !reserved.includes(name)));
  });

  it("has the canonical base64url encoding in all three parts (AUTH-21)", async () => {
    const [, verifier] = createVerifiers();
    await fc.assert(
      fc.asyncProperty(claims, fc.constantFrom(...symmetric), async (given, algorithm) => {
        const token = forge({ algorithm, claims: given });
        expect((await verifier.verify(token)).reason).to.equal(undefined);
        const again = token.split(".").map((part) => base64url(Buffer.from(part, "base64url")));
        expect(again.join(".")).to.equal(token);
      }),
      { ...settings, numRuns: 500 },
    );
  });

  it("yields the signed claims, both at its first and at its second use (AUTH-19)", async () => {
    const [, verifier] = createVerifiers();
    await fc.assert(
      fc.asyncProperty(claims, async (given) => {
        const token = forge({ algorithm: "HS256", claims: given });
        const found = await verifier.verify(token);
        expect(found.principal?.claims).to.deep.include(JSON.parse(JSON.stringify(given)));
        expect(await verifier.verify(token)).to.deep.equal(found);
      }),
      { ...settings, numRuns: 500 },
    );
  });

  it("is refused after a change to any of its characters (AUTH-3)", async () => {
    const [, verifier] = createVerifiers();
    const token = forge({ algorithm: "HS256" });
    expect((await verifier.verify(token)).reason).to.equal(undefined);
    for (let at = 0; at < token.length; at++) {
      for (const other of ["A", "Q", "_", "."].filter((each) => each !== token.charAt(at))) {
        const changed = token.slice(0, at) + other + token.slice(at + 1);
        expect((await verifier.verify(changed)).reason, changed).to.be.a("string");
      }
    }
  });
});

/** Creates one verifier per family of algorithms; only the second verifier, for HMAC, has a cache. */
function createVerifiers(): readonly [Verifier, Verifier] {
  return [
    createVerifier({ keys: everyKey(), algorithms: asymmetric, now, cacheTokens: 0 }),
    createVerifier({ keys: everyKey(), algorithms: symmetric, now }),
  ];
}
