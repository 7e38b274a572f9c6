import type { Algorithm, KeySource } from "@svc/jwt-auth";
import { expect } from "chai";
import { createHash, type KeyObject } from "node:crypto";
import { cacheCost, type CachedToken, cacheId, createVerifiedCache } from "../src/verified-cache.ts";
import { forge, nowSeconds } from "./support/forge.ts";
import { keyFixture, keyFor } from "./support/key-fixtures.ts";
import { createRandom } from "./support/random.ts";
import { hs256, thrownBy, verifierWith } from "./support/verifying.ts";

/** Creates a source with a changeable key and generation, which counts calls of find(). */
function changing(
  key: KeyObject | undefined,
): KeySource & { generation: number; key: typeof key; asked: number } {
  return {
    generation: 1,
    key,
    asked: 0,
    find() {
      this.asked++;
      return this.key;
    },
  };
}

const secret = keyFor("HS256").publicKey;

describe("the cache of verified tokens", () => {
  it("returns the same object for a repeated token, without looking up its key", () => {
    const keys = changing(secret);
    const verifier = verifierWith({ keys });
    const token = hs256();
    const first = verifier.verify(token);
    expect(verifier.verify(token)).to.equal(first);
    expect(verifier.verify(`${token} `.trim())).to.equal(first);
    expect(keys.asked).to.equal(1);
    expect(verifier.cachedTokens).to.equal(1);
  });

  it("holds tokens verified synchronously and tokens verified in the thread pool (AUTH-3)", async () => {
    for (const algorithm of ["RS256", "ES256", "EdDSA"] as const satisfies readonly Algorithm[]) {
      const verifier = verifierWith({ keys: changing(keyFor(algorithm).publicKey), algorithms: [algorithm] });
      const token = forge({ algorithm });
      expect(verifier.verify(token) instanceof Promise).to.equal(algorithm !== "RS256");
      const first = await verifier.verify(token);
      expect(verifier.verify(token)).to.equal(first);
    }
  });

  it("distinguishes two tokens with equal sub and jti (CLAIM-2)", () => {
    const verifier = verifierWith();
    const weak = hs256({ claims: { jti: "1", scope: "read" } });
    const strong = hs256({ claims: { jti: "1", scope: "read write" } });
    for (let i = 0; i < 1000; i++) {
      expect(verifier.verify(weak)).to.deep.nested.include({ "principal.scopes": ["read"] });
      expect(verifier.verify(strong)).to.deep.nested.include({ "principal.scopes": ["read", "write"] });
    }
    expect(verifier.cachedTokens).to.equal(2);
  });

  it("refuses a token that differs from a cached token only in its last character", () => {
    const verifier = verifierWith();
    const token = hs256();
    void verifier.verify(token);
    for (const last of "AEIMQUYcgkosw048") {
      const other = token.slice(0, -1) + last;
      if (other === token) continue;
      expect(verifier.verify(other)).to.have.property("reason", "signature");
    }
    expect(verifier.verify(token.slice(0, -1))).to.have.property("reason");
  });

  it("does not hold refused tokens", () => {
    const verifier = verifierWith();
    for (const bad of [
      hs256({ claims: { exp: 1 } }),
      hs256({ signature: (bytes) => bytes.reverse() }),
      "x",
    ]) {
      expect(verifier.verify(bad)).to.have.property("reason");
    }
    expect(verifier.cachedTokens).to.equal(0);
  });

  it("refuses a cached token from the second in which it expires (AUTH-30)", () => {
    let seconds = nowSeconds;
    const verifier = verifierWith({ now: () => seconds * 1000 });
    const token = hs256({ claims: { exp: nowSeconds + 10 } });
    expect(verifier.verify(token)).to.have.property("principal");
    seconds = nowSeconds + 39;
    expect(verifier.verify(token)).to.have.property("principal");
    seconds = nowSeconds + 40;
    expect(verifier.verify(token)).to.deep.equal({ reason: "expired", at: "exp" });
    expect(verifier.cachedTokens).to.equal(0);
  });

  it("refuses a cached token when the clock goes back before its iat or nbf (AUTH-8, AUTH-29)", () => {
    let seconds = nowSeconds;
    const verifier = verifierWith({ now: () => seconds * 1000 });
    const issued = hs256({ claims: { iat: nowSeconds } });
    const begins = hs256({ claims: { iat: nowSeconds - 60, nbf: nowSeconds } });
    for (const token of [issued, begins]) expect(verifier.verify(token)).to.have.property("principal");
    seconds = nowSeconds - 30;
    for (const token of [issued, begins]) expect(verifier.verify(token)).to.have.property("principal");
    seconds = nowSeconds - 31;
    expect(verifier.verify(issued)).to.have.property("reason", "issued_in_future");
    expect(verifier.verify(begins)).to.have.property("reason", "not_yet_valid");
  });

  it("refuses a cached token after its key was removed (CLAIM-6)", () => {
    const keys = changing(secret);
    const verifier = verifierWith({ keys });
    const token = hs256({ header: { kid: "k" } });
    void verifier.verify(token);
    keys.key = undefined;
    keys.generation++;
    expect(verifier.verify(token)).to.deep.equal({ reason: "unknown_key", at: "kid" });
    expect(verifier.cachedTokens).to.equal(0);
  });

  it("refuses a cached token after another key replaced its key (CLAIM-6)", () => {
    const keys = changing(secret);
    const verifier = verifierWith({ keys });
    const token = hs256();
    void verifier.verify(token);
    keys.key = keyFixture("otherSecret").publicKey;
    keys.generation++;
    expect(verifier.verify(token)).to.deep.equal({ reason: "signature" });
  });

  it("keeps a token when only other keys change, and looks up its key once per change (CLAIM-6)", () => {
    const keys = changing(secret);
    const verifier = verifierWith({ keys });
    const token = hs256();
    const first = verifier.verify(token);
    keys.generation++;
    for (let i = 0; i < 5; i++) expect(verifier.verify(token)).to.equal(first);
    expect(keys.asked).to.equal(2);
  });

  it("refuses a cached token when the source throws after its generation changed (CLAIM-6)", () => {
    const keys = changing(secret);
    const verifier = verifierWith({ keys });
    const token = hs256();
    void verifier.verify(token);
    keys.generation++;
    keys.find = () => {
      throw new Error("broken");
    };
    expect(verifier.verify(token)).to.deep.equal({ reason: "keys_unavailable" });
  });

  it("refuses a token at its second use when its key was removed during its first verification (CLAIM-6)", async () => {
    const keys = changing(keyFor("ES256").publicKey);
    const verifier = verifierWith({ keys, algorithms: ["ES256"] });
    const token = forge({ algorithm: "ES256" });
    const pending = verifier.verify(token);
    keys.key = undefined;
    keys.generation++;
    expect(await pending).to.have.property("principal");
    expect(verifier.verify(token)).to.have.property("reason", "unknown_key");
  });

  it("keeps the most recently used tokens, up to cacheTokens", () => {
    const verifier = verifierWith({ cacheTokens: 3 });
    const [a = "", b = "", c = "", d = ""] = ["a", "b", "c", "d"].map((sub) => hs256({ claims: { sub } }));
    const [first, second] = [verifier.verify(a), verifier.verify(b)];
    void verifier.verify(c);
    expect(verifier.verify(a)).to.equal(first);
    void verifier.verify(d);
    expect(verifier.cachedTokens).to.equal(3);
    expect(verifier.verify(a)).to.equal(first);
    expect(verifier.verify(b)).not.to.equal(second);
  });

  it("is off when cacheTokens is 0", () => {
    const verifier = verifierWith({ cacheTokens: 0 });
    const token = hs256();
    expect(verifier.verify(token)).not.to.equal(verifier.verify(token));
    expect(verifier.cachedTokens).to.equal(0);
  });

  it("is bounded by the options cacheTokens and cacheBytes, which are validated", () => {
    expect(thrownBy(() => verifierWith({ cacheTokens: 1.5 })).message).to.contain("cacheTokens");
    expect(thrownBy(() => verifierWith({ cacheBytes: 1 })).message).to.contain("cacheBytes");
    const verifier = verifierWith({ cacheBytes: 65_536 });
    for (let i = 0; i < 100; i++)
      void verifier.verify(hs256({ claims: { sub: `${i}`, pad: "x".repeat(3000) } }));
    expect(verifier.cachedTokens).to.be.within(1, 8);
  });
});

describe("createVerifiedCache", () => {
  const verified = { principal: undefined } as object as CachedToken["verified"];
  const entry = (bytes: number): CachedToken => {
    const header = { algorithm: "HS256", kid: undefined } as const;
    return { verified, header, key: secret, from: 0, until: 1, generation: 0, bytes };
  };

  it("stays within both bounds over 100,000 entries", () => {
    const cache = createVerifiedCache(5000, 4_000_000);
    let most = 0;
    for (let i = 0; i < 100_000; i++) {
      cache.set(`${i}`, entry(i < 50_000 ? 100 : 2000));
      if (cache.size > 5000 || cache.bytes > 4_000_000) throw new Error(`too much after ${i}`);
      most = Math.max(most, cache.size);
    }
    expect(most).to.equal(5000);
    expect(cache).to.include({ size: 2000, bytes: 4_000_000 });
    expect(cache.get("99999")).not.to.equal(undefined);
    expect(cache.get("97999")).to.equal(undefined);
  });

  it("when bounded to four entries and 1,000 bytes, holds the same entries as a plain list ordered by last use", () => {
    const random = createRandom(7);
    const cache = createVerifiedCache(4, 1000);
    let list: { readonly id: string; readonly token: CachedToken }[] = [];
    const without = (id: string): typeof list => list.filter((each) => each.id !== id);
    for (let step = 0; step < 20_000; step++) {
      const id = `${random.whole(8)}`;
      const known = list.find((each) => each.id === id);
      if (random.chance(0.5)) {
        expect(cache.get(id)).to.equal(known?.token);
        if (known !== undefined) list = [...without(id), known];
      } else if (random.chance(0.2)) {
        cache.delete(id);
        list = without(id);
      } else {
        const token = entry(50 + random.whole(1000));
        cache.set(id, token);
        list = without(id);
        if (token.bytes <= 1000) list.push({ id, token });
        const bytes = (): number => list.reduce((sum, each) => sum + each.token.bytes, 0);
        while (list.length > 4 || bytes() > 1000) list.shift();
        expect(cache).to.include({ size: list.length, bytes: bytes() });
      }
    }
  });

  it("keeps a token in regular use while 10,000 others pass through", () => {
    const cache = createVerifiedCache(800, 1e9);
    cache.set("used", entry(1));
    for (let index = 0; index < 10_000; index++) {
      cache.set(`other-${index}`, entry(1));
      // The token is used once per 400 other tokens, and the cache holds 800.
      if (index % 400 === 0) expect(cache.get("used"), `after ${index}`).not.equal(undefined);
    }
    expect(cache.size).equal(800);
  });

  it("counts an entry once when it is set twice, and drops a deleted entry", () => {
    const cache = createVerifiedCache(10, 1000);
    cache.set("a", entry(100));
    cache.set("a", entry(200));
    expect(cache).to.include({ size: 1, bytes: 200 });
    cache.delete("a");
    cache.delete("a");
    expect(cache).to.include({ size: 0, bytes: 0 });
  });

  it("does not store an entry larger than maxBytes, and keeps the other entries", () => {
    const cache = createVerifiedCache(10, 1000);
    cache.set("a", entry(900));
    cache.set("b", entry(1001));
    expect(cache).to.include({ size: 1, bytes: 900 });
  });

  it("uses a hash of the whole token as the key", () => {
    const token = hs256();
    expect(Buffer.from(cacheId(token), "latin1")).to.deep.equal(createHash("sha256").update(token).digest());
    expect(cacheId(token)).not.to.contain(token.slice(0, 8));
  });

  it("estimates the memory of claims, not only their JSON length", () => {
    expect(cacheCost(600, { sub: "ada" })).to.be.within(1200, 4000);
    const lists = { sub: "ada", lists: Array.from({ length: 1500 }, () => []) };
    expect(cacheCost(6400, lists)).to.be.above(1500 * 64);
    const nested = JSON.parse("[".repeat(2000) + "]".repeat(2000)) as object;
    expect(cacheCost(6400, nested)).to.be.above(2000 * 64);
    // Measured: 85,000 bytes per token, because V8 stores one hidden class per set of member names.
    const named = { d: Array.from({ length: 450 }, (_, index) => ({ [index.toString(36)]: 1 })) };
    expect(cacheCost(6733, named)).to.be.above(85_000);
  });
});
