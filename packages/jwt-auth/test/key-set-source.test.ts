import { collectingLogger, rejection, until } from "@svc/test-support";
import { AsyncLocalStorage } from "node:async_hooks";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createKeySetSource, createVerifier, KeySetError, type KeySetOptions } from "@svc/jwt-auth";
import { expect } from "chai";
import { forge, now as nowOfTokens } from "./support/forge.ts";
import { failing, issuer, jwkOf, readinessOf, stoppedClock } from "./support/issuer.ts";
import { type KeyName, keyFixture } from "./support/key-fixtures.ts";

function sourceOf(url: string, options: Partial<KeySetOptions> = {}): ReturnType<typeof createKeySetSource> {
  return createKeySetSource({ url, env: "local", algorithms: ["ES256"], random: () => 0, ...options });
}

const ES = "ES256";

describe("createKeySetSource()", () => {
  it("picks the key by the kid and the algorithm of the token (CLAIM-6)", async () => {
    await using keys = await issuer(jwkOf("p256"), jwkOf("rsa2048"), jwkOf("ed25519"));
    using source = sourceOf(keys.url, { algorithms: ["ES256", "RS256", "EdDSA"] });
    expect((await source.refresh("p256", "ES256"))?.equals(keyFixture("p256").publicKey)).to.equal(true);
    expect(source.find("rsa2048", "RS256")?.equals(keyFixture("rsa2048").publicKey)).to.equal(true);
    expect(source.find("ed25519", "EdDSA")?.equals(keyFixture("ed25519").publicKey)).to.equal(true);
    expect(source.find("rsa2048", "ES256")).to.equal(undefined);
    expect(source.find("other", "ES256")).to.equal(undefined);
    expect(keys.requests).to.equal(1);
  });

  it("limits a verifier without the option algorithms to its own algorithms", async () => {
    await using keys = await issuer(jwkOf("p256"));
    using source = sourceOf(keys.url, { algorithms: ["ES256", "EdDSA", "ES256"] });
    const verifier = createVerifier({ keys: source, now: nowOfTokens });
    expect(verifier.algorithms).to.eql(["ES256", "EdDSA"]);
    const token = forge({ algorithm: "ES256", header: { kid: "p256" } });
    expect((await verifier.verify(token)).reason).to.equal(undefined);
    expect(() => createVerifier({ keys: source, algorithms: ["RS256"] })).to.throw(
      "has RS256, for which the key source has no keys; it has keys for ES256, EdDSA",
    );
  });

  it("finds no key for a kid outside the set, such as __proto__ (CLAIM-6)", async () => {
    await using keys = await issuer(jwkOf("p256"));
    using source = sourceOf(keys.url);
    await source.refresh("p256", ES);
    for (const kid of ["__proto__", "constructor", "toString", "", "P256", " p256", "p256\0"]) {
      expect(source.find(kid, ES), JSON.stringify(kid)).to.equal(undefined);
    }
  });

  it("fetches at construction, so that /ready is healthy before the first token", async () => {
    await using keys = await issuer(jwkOf("p256"));
    using source = sourceOf(keys.url, { now: stoppedClock().now });
    expect(source.find("p256", ES)).to.equal(undefined);
    await until("the keys are there", () => source.find("p256", ES));
    expect(keys.requests).to.equal(1);
    expect(await readinessOf(source)).to.include({ healthy: true, detail: "1 key(s), cached 0s ago" });
  });

  it("fetches a new key at the first token that names it, and keeps the object of the old key (KEY-2)", async () => {
    await using keys = await issuer(jwkOf("p256"));
    using source = sourceOf(keys.url);
    const old = await source.refresh("p256", ES);
    keys.publish(jwkOf("otherP256"), jwkOf("p256"));
    expect((await source.refresh("otherP256", ES))?.equals(keyFixture("otherP256").publicKey)).to.equal(true);
    expect(keys.requests).to.equal(2);
    expect(source.find("p256", ES)).to.equal(old);
  });

  it("increases generation only when the content of the set changes (KEY-2)", async () => {
    const clock = stoppedClock();
    await using keys = await issuer(jwkOf("p256"), jwkOf("otherP256"));
    using source = sourceOf(keys.url, { now: clock.now });
    const before = await source.refresh("p256", ES);
    expect(source.generation).to.equal(1);
    keys.publish(jwkOf("otherP256", { x5t: "new" }), jwkOf("p256", { use: "sig" }));
    clock.advance(60);
    expect(await source.refresh("nobody's", ES)).to.equal(undefined);
    expect(source.generation).to.equal(1);
    expect(source.find("p256", ES)).to.equal(before);
    keys.publish(jwkOf("p256"));
    clock.advance(60);
    await source.refresh("nobody's", ES);
    expect(source.generation).to.equal(2);
    expect(source.find("p256", ES)).to.equal(before);
    expect(source.find("otherP256", ES)).to.equal(undefined);
    keys.publish(jwkOf("otherP256", { kid: "p256" }));
    clock.advance(60);
    await source.refresh("nobody's", ES);
    expect(source.generation).to.equal(3);
    expect(source.find("p256", ES)?.equals(keyFixture("otherP256").publicKey)).to.equal(true);
  });

  it("fetches at most once a minute for ten thousand unknown kids (KEY-1)", async () => {
    const clock = stoppedClock();
    await using keys = await issuer(jwkOf("p256"));
    using source = sourceOf(keys.url, { now: clock.now });
    const key = await source.refresh("p256", ES);
    const ask = async (from: number): Promise<void> => {
      const kids = Array.from({ length: 5000 }, (_, index) => `random ${from + index}`);
      for (const found of await Promise.all(kids.map((kid) => source.refresh(kid, ES)))) {
        expect(found).to.equal(undefined);
      }
    };
    await ask(0);
    clock.advance(59.9);
    await ask(5000);
    expect(keys.requests).to.equal(2);
    clock.advance(0.1);
    await ask(10_000);
    expect(keys.requests).to.equal(3);
    expect(source.generation).to.equal(1);
    expect(source.find("p256", ES)).to.equal(key);
  });

  it("fetches for an unknown kid again a minute after the last fetch started, even if that fetch failed (KEY-1)", async () => {
    const clock = stoppedClock();
    await using keys = await issuer(jwkOf("p256"));
    using source = sourceOf(keys.url, { now: clock.now, attempts: 1 });
    await source.refresh("p256", ES);
    keys.answer(failing());
    for (let call = 0; call < 20; call++) {
      expect(await rejection(source.refresh(`random ${call}`, ES))).to.be.instanceOf(KeySetError);
    }
    expect(keys.requests).to.equal(2);
    keys.publish(jwkOf("p256"), jwkOf("otherP256"));
    clock.advance(60);
    expect(await source.refresh("otherP256", ES)).not.to.equal(undefined);
    expect(keys.requests).to.equal(3);
  });

  it("does not fetch for a known kid with another algorithm, or for a missing kid (KEY-1)", async () => {
    await using keys = await issuer(jwkOf("p256"), jwkOf("rsa2048"));
    using source = sourceOf(keys.url, { algorithms: ["ES256", "RS256", "PS256"] });
    await source.refresh("p256", ES);
    expect(await source.refresh("p256", "RS256")).to.equal(undefined);
    expect(await source.refresh(undefined, "RS256")).to.equal(undefined);
    expect(keys.requests).to.equal(1);
  });

  it("shares the first fetch among a thousand callers (KEY-15)", async () => {
    await using keys = await issuer(jwkOf("p256"));
    using source = sourceOf(keys.url);
    const calls = Array.from({ length: 1000 }, () => source.refresh("p256", ES));
    const found = new Set(await Promise.all(calls));
    expect([...found]).to.deep.equal([source.find("p256", ES)]);
    expect(keys.requests).to.equal(1);
  });

  it("shares one failure among a thousand callers (KEY-5, KEY-15)", async () => {
    await using keys = await issuer();
    keys.answer(failing(404));
    using source = sourceOf(keys.url);
    const calls = Array.from({ length: 1000 }, (_, index) => rejection(source.refresh(`${index}`, ES)));
    const errors = new Set(await Promise.all(calls));
    expect(errors.size).to.equal(1);
    expect([...errors][0]).to.include({ name: "KeySetError", code: "ERR_SVC_KEY_SET" });
    expect(keys.requests).to.equal(1);
  });

  it("fetches again for a token whose key was published after the shared fetch began (KEY-2, KEY-15)", async () => {
    await using keys = await issuer(jwkOf("p256"));
    using source = sourceOf(keys.url);
    const release = Promise.withResolvers<void>();
    keys.answer(
      (_req, res) => void release.promise.then(() => res.end(JSON.stringify({ keys: [jwkOf("p256")] }))),
    );
    const early = source.refresh("p256", ES);
    await keys.arrived(1);
    keys.publish(jwkOf("p256"), jwkOf("otherP256"));
    const late = Array.from({ length: 10 }, () => source.refresh("otherP256", ES));
    release.resolve();
    expect(await early).not.to.equal(undefined);
    for (const key of await Promise.all(late)) expect(key).to.equal(source.find("otherP256", ES));
    expect(source.find("otherP256", ES)).not.to.equal(undefined);
    expect(keys.requests).to.equal(2);
  });

  it("accepts all valid tokens while keys rotate under load (KEY-2)", async () => {
    const clock = stoppedClock();
    const names: readonly KeyName[] = ["p256", "otherP256"];
    await using keys = await issuer(jwkOf("p256", { kid: "0" }));
    using source = sourceOf(keys.url, { now: clock.now });
    const verifier = createVerifier({ keys: source, algorithms: ["ES256"], now: nowOfTokens });
    const tokenOf = (kid: number, jti: number): string =>
      forge({
        algorithm: "ES256",
        key: keyFixture(names[kid % 2] ?? "p256").privateKey,
        header: { alg: "ES256", kid: `${kid}` },
        claims: { jti: `${jti}` },
      });
    let refused = 0;
    for (let round = 0; round < 6; round++) {
      if (round > 0) {
        const old = jwkOf(names[(round - 1) % 2] ?? "p256", { kid: `${round - 1}` });
        keys.publish(old, jwkOf(names[round % 2] ?? "p256", { kid: `${round}` }));
        clock.advance(61);
      }
      const tokens = Array.from({ length: 60 }, (_, each) => tokenOf(Math.max(0, round - (each % 2)), each));
      for (const { reason } of await Promise.all(tokens.map(async (token) => verifier.verify(token)))) {
        if (reason !== undefined) refused += 1;
      }
    }
    expect(refused).to.equal(0);
    expect(keys.requests).to.equal(6);
  });

  it("refuses tokens of a removed key, including cached tokens (KEY-2)", async () => {
    const clock = stoppedClock();
    await using keys = await issuer(jwkOf("p256"), jwkOf("otherP256"));
    using source = sourceOf(keys.url, { now: clock.now });
    const verifier = createVerifier({ keys: source, algorithms: ["ES256"], now: nowOfTokens });
    const token = forge({
      algorithm: "ES256",
      key: keyFixture("p256").privateKey,
      header: { alg: "ES256", kid: "p256" },
    });
    expect((await verifier.verify(token)).reason).to.equal(undefined);
    expect((await verifier.verify(token)).reason).to.equal(undefined);
    keys.publish(jwkOf("otherP256"));
    await source.refresh("another", ES);
    expect((await verifier.verify(token)).reason).to.equal("unknown_key");
  });

  it("fetches again at the maximum age of its keys, without any call", async () => {
    await using keys = await issuer(jwkOf("p256"));
    using source = sourceOf(keys.url, { maxAgeSeconds: 1 });
    await source.refresh("p256", ES);
    keys.publish(jwkOf("otherP256"));
    await until("the keys are there", () => source.find("otherP256", ES));
    expect(source.find("p256", ES)).to.equal(undefined);
    expect(keys.requests).to.be.at.least(2);
  });

  it("fetches outside the context of the request that triggers it", async () => {
    await using keys = await issuer(jwkOf("p256"));
    const storage = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    using source = sourceOf(keys.url, {
      fetch: (input, init) => {
        seen.push(storage.getStore());
        return fetch(input, init);
      },
    });
    await storage.run("a request", () => source.refresh("p256", ES));
    expect(seen).to.deep.equal([undefined]);
  });

  it("stop() aborts a running fetch and keeps the known keys", async () => {
    await using keys = await issuer(jwkOf("p256"));
    const source = sourceOf(keys.url);
    const key = await source.refresh("p256", ES);
    const cut = Promise.withResolvers<void>();
    keys.answer((_req, res) => void res.once("close", cut.resolve));
    const waiting = rejection(source.refresh("another", ES));
    await keys.arrived(2);
    source.stop();
    expect((await waiting).message).to.include("stopped");
    await cut.promise;
    expect(source.find("p256", ES)).to.equal(key);
    expect((await rejection(source.refresh("yet another", ES))).message).to.include("stopped");
    expect(keys.requests).to.equal(2);
    source.stop();
  });

  it("does not keep the process alive", async () => {
    await using keys = await issuer(jwkOf("p256"));
    const program = `
      import { createKeySetSource } from "@svc/jwt-auth";
      const source = createKeySetSource({ url: "${keys.url}", env: "local", algorithms: ["ES256"] });
      const key = await source.refresh("p256", "ES256");
      console.log(key.asymmetricKeyType);`;
    const args = ["--conditions=@svc/source", "--input-type=module", "--eval", program];
    const cwd = fileURLToPath(new URL("..", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd });
    expect(stdout).to.equal("ec\n");
  });

  it("logs a change of the keys, a failed fetch and the recovery", async () => {
    const clock = stoppedClock();
    const logger = collectingLogger();
    await using keys = await issuer(jwkOf("p256"));
    using source = sourceOf(`${keys.url}?client=hush`, { now: clock.now, logger, attempts: 1 });
    await source.refresh("p256", ES);
    keys.answer(failing(500));
    await rejection(source.refresh("another", ES));
    keys.publish(jwkOf("p256"));
    clock.advance(60);
    await source.refresh("another", ES);
    const place = `{"key_set":${JSON.stringify(keys.url)}`;
    expect(logger.texts).to.deep.equal([
      `info the token verification keys changed ${place},"keys":1}`,
      `warn the token verification keys could not be fetched ${place},` +
        `"reason":"the endpoint answered 500","keys":1,"breaker":"closed"}`,
      `info the token verification keys were fetched after a failure ${place}}`,
    ]);
    expect(logger.texts.join()).not.to.include("hush");
  });
});
