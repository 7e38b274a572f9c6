import type { KeyObject } from "node:crypto";
import { createSecretSource, createVerifier, type KeySource, type Verification } from "@svc/jwt-auth";
import { ConfigurationError } from "@svc/options";
import { expect } from "chai";
import { everyKey } from "./support/fixed-keys.ts";
import { forge, now, nowSeconds } from "./support/forge.ts";
import { keyFixture, keyFor } from "./support/key-fixtures.ts";
import { hs256, thrownBy, verifierWith } from "./support/verifying.ts";

describe("createVerifier", () => {
  it("allows RS256 by default (AUTH-3)", () => {
    const verifier = createVerifier({ keys: everyKey(), now });
    expect(verifier.algorithms).to.deep.equal(["RS256"]);
    expect(verifier.verify(forge())).to.have.property("principal");
    expect(verifier.verify(hs256())).to.deep.equal({ reason: "algorithm_not_allowed", at: "alg" });
  });

  it("allows only algorithms that its key source lists (AUTH-3)", () => {
    const keys = createSecretSource({ secret: "s".repeat(32), algorithms: ["HS384", "HS512"] });
    expect(createVerifier({ keys }).algorithms).to.deep.equal(["HS384", "HS512"]);
    expect(createVerifier({ keys, algorithms: ["HS512"] }).algorithms).to.deep.equal(["HS512"]);
    const error = thrownBy(() => createVerifier({ keys, algorithms: ["HS256"] }));
    expect(error).to.be.instanceOf(ConfigurationError);
    expect(error.message).to.contain("algorithms: has HS256, for which the key source has no keys");
  });

  it("rejects the algorithm none and mixed families (AUTH-4, AUTH-5)", () => {
    const algorithms = ["none"] as unknown as ["RS256"];
    expect(thrownBy(() => verifierWith({ algorithms })).message).to.contain('must not contain "none"');
    expect(thrownBy(() => verifierWith({ algorithms: ["ES256", "HS256"] })).message).to.contain("one family");
  });

  it("reports all invalid options at once", () => {
    const wrong = { leeway: 3, cacheTokens: -1, tokenUse: "any", audience: 7 } as object;
    const error = thrownBy(() => verifierWith(wrong));
    expect(error).to.be.instanceOf(ConfigurationError);
    for (const name of ["leeway", "cacheTokens", "tokenUse", "audience"])
      expect(error.message).to.contain(name);
  });

  it("rejects a source without generation, which would keep cached tokens of removed keys valid (KEY-2)", () => {
    for (const generation of [undefined, null, "0", () => 0]) {
      const keys = { generation, find: () => undefined } as object as KeySource;
      const error = thrownBy(() => createVerifier({ keys }));
      expect(error).to.be.instanceOf(ConfigurationError);
      expect(error.message).to.contain("keys: must have a numeric `generation`");
    }
  });

  it("exposes its settings", () => {
    const keys = everyKey();
    const verifier = verifierWith({ keys, tokenUse: "refresh", leewaySeconds: 5 });
    expect(verifier).to.include({ keys, tokenUse: "refresh", leewaySeconds: 5, cachedTokens: 0 });
    expect(verifierWith()).to.include({ tokenUse: "access", leewaySeconds: 30 });
  });

  it("returns frozen results for accepted and refused tokens", () => {
    for (const token of [hs256(), "x", hs256({ claims: { sub: 1 } })]) {
      expect(verifierWith().verify(token)).to.be.frozen;
    }
  });

  it("shows no part of the token in a refusal (AUTH-11)", () => {
    const secret = "not-for-the-log";
    const bad = [
      hs256({ claims: { sub: [secret] } }),
      hs256({ claims: { typ: "refresh", sub: secret } }),
      hs256({ header: { alg: secret } }),
      hs256({ header: { kid: secret.repeat(20) } }),
    ];
    for (const token of bad) expect(JSON.stringify(verifierWith().verify(token))).not.to.contain(secret);
  });

  it("passes the header's kid and algorithm to its source (CLAIM-6)", () => {
    const asked: unknown[] = [];
    const inner = everyKey();
    const keys: KeySource = {
      generation: inner.generation,
      find: (kid, algorithm) => {
        asked.push([kid, algorithm]);
        return inner.find(kid, algorithm);
      },
    };
    const verifier = verifierWith({ keys });
    void verifier.verify(hs256({ header: { kid: "a" } }));
    void verifier.verify(hs256());
    expect(asked).to.deep.equal([
      ["a", "HS256"],
      [undefined, "HS256"],
    ]);
  });

  it("looks up a key only after shape and claims are valid (CLAIM-6)", () => {
    const keys: KeySource = {
      generation: 0,
      find: () => {
        throw new Error("asked for a key");
      },
    };
    const verifier = verifierWith({ keys, issuer: "i" });
    for (const token of ["a.b.c", hs256({ claims: { exp: 1 } }), hs256({ claims: { iss: "j" } })]) {
      expect(verifier.verify(token)).not.to.have.property("reason", "keys_unavailable");
    }
  });
});

describe("a verifier with a source that can fetch", () => {
  function fetching(refresh: NonNullable<KeySource["refresh"]>): KeySource {
    return { generation: 0, find: () => undefined, refresh };
  }
  const verify = (keys: KeySource): Promise<Verification> | Verification =>
    verifierWith({ keys }).verify(hs256());

  it("waits for the fetch of an unknown key (CLAIM-6)", async () => {
    const answer = verify(fetching(async () => keyFor("HS256").publicKey));
    expect(answer).to.be.instanceOf(Promise);
    expect(await answer).to.have.property("principal");
  });

  it("refuses a token when the fetch does not find its key (CLAIM-6)", async () => {
    expect(await verify(fetching(async () => undefined))).to.deep.equal({ reason: "unknown_key", at: "kid" });
    expect(verify({ generation: 0, find: () => undefined })).to.deep.equal({
      reason: "unknown_key",
      at: "kid",
    });
  });

  it("refuses with keys_unavailable when the source throws or rejects (CLAIM-6)", async () => {
    const unavailable = { reason: "keys_unavailable" };
    expect(await verify(fetching(() => Promise.reject(new Error("down"))))).to.deep.equal(unavailable);
    const thrown = (): never => {
      throw new Error("broken");
    };
    expect(await verify(fetching(thrown))).to.deep.equal(unavailable);
    expect(verify({ generation: 0, find: thrown })).to.deep.equal(unavailable);
  });

  it("refuses and does not cache a token that expires while its key is fetched (AUTH-8, AUTH-29)", async () => {
    let seconds = nowSeconds;
    let arrive = (_key: KeyObject): void => undefined;
    const keys = fetching(() => new Promise((resolve) => (arrive = resolve)));
    const verifier = verifierWith({ keys, now: () => seconds * 1000, leewaySeconds: 3 });
    const afterWaiting = async (waited: number): Promise<Verification> => {
      seconds = nowSeconds;
      const answer = verifier.verify(hs256({ claims: { exp: nowSeconds + 1 } }));
      seconds += waited;
      arrive(keyFor("HS256").publicKey);
      return answer;
    };
    expect(await afterWaiting(4)).to.deep.equal({ reason: "expired", at: "exp" });
    expect(verifier.cachedTokens).to.equal(0);
    expect(await afterWaiting(3)).to.have.nested.property("principal.subject", "ada");
  });

  it("refuses a token when the fetched key has the wrong type or another value (AUTH-26)", async () => {
    const wrong = async () => keyFixture("rsa2048").publicKey;
    expect(await verify(fetching(wrong))).to.deep.equal({ reason: "unknown_key", at: "alg" });
    const other = async () => keyFixture("otherSecret").publicKey;
    expect(await verify(fetching(other))).to.deep.equal({ reason: "signature" });
  });
});
