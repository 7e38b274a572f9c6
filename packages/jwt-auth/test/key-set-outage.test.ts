import { createKeySetSource, KeySetError, type KeySetOptions } from "@svc/jwt-auth";
import { rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { failing, issuer, jwkOf, readinessOf, stoppedClock } from "./support/issuer.ts";

const ES = "ES256";

function sourceOf(url: string, options: Partial<KeySetOptions> = {}): ReturnType<typeof createKeySetSource> {
  return createKeySetSource({
    url,
    env: "local",
    algorithms: ["ES256"],
    attempts: 1,
    random: () => 0,
    ...options,
  });
}

describe("a key set source during an outage", () => {
  it("has a critical check until the first successful fetch, and the check sends no requests (RDY-14, RDY-25)", async () => {
    await using keys = await issuer();
    keys.answer(failing());
    const clock = stoppedClock();
    using source = sourceOf(keys.url, { now: clock.now });
    expect(source.readiness()).to.include({ name: "auth", critical: true });
    expect(await readinessOf(source)).to.deep.include({
      healthy: false,
      critical: true,
      detail: "no keys fetched yet",
    });
    await rejection(source.refresh("p256", ES));
    const requests = keys.requests;
    for (let call = 0; call < 50; call++) {
      expect(await readinessOf(source)).to.deep.include({
        healthy: false,
        critical: true,
        detail: "no keys fetched yet",
        meta: { lastFailure: "the endpoint answered 503" },
      });
    }
    expect(keys.requests).to.equal(requests);
  });

  it("recovers without receiving a token (RDY-25)", async () => {
    await using keys = await issuer();
    keys.answer(failing());
    using source = sourceOf(keys.url);
    await keys.arrived(1);
    keys.publish(jwkOf("p256"));
    await until("the keys are there", () => source.find("p256", ES));
    expect(await readinessOf(source)).to.include({ healthy: true, critical: false });
  });

  it("recovers from the outage even if every call of the logger throws (KEY-4)", async () => {
    const broken = (): never => {
      throw new Error("disk full");
    };
    const logger = { debug: broken, info: broken, warn: broken, error: broken, fatal: broken };
    const clock = stoppedClock();
    await using keys = await issuer(jwkOf("p256"));
    using source = sourceOf(keys.url, { now: clock.now, logger });
    expect(await source.refresh("p256", ES)).not.to.equal(undefined);
    keys.answer(failing());
    clock.advance(60);
    expect(await rejection(source.refresh("p384", ES))).to.be.instanceOf(KeySetError);
    keys.publish(jwkOf("otherP256"));
    clock.advance(60);
    expect(await source.refresh("otherP256", ES)).not.to.equal(undefined);
    expect(await readinessOf(source)).to.include({ healthy: true });
  });

  it("without keys, fetches three times at intervals of one second, then every thirty seconds (KEY-9, KEY-10)", async () => {
    const clock = stoppedClock();
    await using keys = await issuer();
    keys.answer(failing());
    using source = sourceOf(keys.url, { now: clock.now });
    const ask = async (): Promise<number> => {
      for (let call = 0; call < 50; call++) {
        expect(await rejection(source.refresh(`${call}`, ES))).to.be.instanceOf(KeySetError);
      }
      return keys.requests;
    };
    expect(await ask()).to.equal(1);
    clock.advance(0.9);
    expect(await ask()).to.equal(1);
    clock.advance(0.2);
    expect(await ask()).to.equal(2);
    clock.advance(1.2);
    expect(await ask()).to.equal(3);
    clock.advance(29.9);
    expect(await ask()).to.equal(3);
    clock.advance(0.2);
    expect(await ask()).to.equal(4);
    clock.advance(29.9);
    expect(await ask()).to.equal(4);
    keys.publish(jwkOf("p256"));
    clock.advance(0.2);
    expect(await source.refresh("p256", ES)).not.to.equal(undefined);
    expect(keys.requests).to.equal(5);
    expect(await readinessOf(source)).to.include({ healthy: true, detail: "1 key(s), cached 0s ago" });
  });

  it("serves the known keys for hours, and reports their age (KEY-4, KEY-9, RDY-24)", async () => {
    const clock = stoppedClock();
    await using keys = await issuer(jwkOf("p256"));
    using source = sourceOf(keys.url, { now: clock.now });
    const key = await source.refresh("p256", ES);
    clock.advance(12);
    expect(await readinessOf(source)).to.deep.include({
      healthy: true,
      critical: false,
      detail: "1 key(s), cached 12s ago",
      meta: { keys: 1, ageSeconds: 12 },
    });
    keys.answer((req) => req.socket.destroy());
    await rejection(source.refresh("another", ES));
    clock.advance(6 * 3600);
    expect(source.find("p256", ES)).to.equal(key);
    expect(await source.refresh("p256", ES)).to.equal(key);
    const { healthy, critical, detail } = await readinessOf(source);
    expect({ healthy, critical }).to.deep.equal({ healthy: false, critical: false });
    expect(detail).to.match(
      /^serving keys cached 21612s ago; last refresh failed: network error \([A-Z_]+\)( \(breaker open\))?$/,
    );
    expect(source.generation).to.equal(1);
  });

  it("reports an open breaker, and does not call the issuer while it is open (KEY-9, RDY-24)", async () => {
    const clock = stoppedClock();
    await using keys = await issuer(jwkOf("p256"));
    using source = sourceOf(keys.url, { now: clock.now, breakerFailures: 2, breakerCoolDownSeconds: 3600 });
    await source.refresh("p256", ES);
    keys.answer(failing());
    await rejection(source.refresh("a", ES));
    clock.advance(60);
    await rejection(source.refresh("b", ES));
    clock.advance(60);
    for (let call = 0; call < 20; call++) await rejection(source.refresh("c", ES));
    expect(keys.requests).to.equal(3);
    expect((await readinessOf(source)).detail).to.equal(
      "serving keys cached 120s ago; last refresh failed: the endpoint answered 503 (breaker open)",
    );
    keys.publish(jwkOf("p256"), jwkOf("otherP256"));
    clock.advance(3600);
    expect(await source.refresh("otherP256", ES)).not.to.equal(undefined);
    expect(keys.requests).to.equal(4);
    expect((await readinessOf(source)).detail).to.equal("2 key(s), cached 0s ago");
  });

  it("recovers by one trial fetch in the background, without a token (KEY-10, RDY-24)", async () => {
    await using keys = await issuer(jwkOf("p256"));
    const settings = { maxAgeSeconds: 1, breakerFailures: 1, breakerCoolDownSeconds: 1 };
    using source = sourceOf(keys.url, settings);
    await source.refresh("p256", ES);
    keys.answer(failing());
    await until("the keys are there", () =>
      source.generation === 1 && keys.requests >= 3 ? true : undefined,
    );
    expect((await readinessOf(source)).detail).to.match(/^serving keys cached .* 503 \(breaker open\)$/);
    keys.publish(jwkOf("p256"), jwkOf("otherP256"));
    await until("the keys are there", () => source.find("otherP256", ES));
    expect((await readinessOf(source)).healthy).to.equal(true);
  });

  it("does not delay tokens with a known key while a fetch hangs (KEY-4)", async () => {
    await using keys = await issuer(jwkOf("p256"));
    using source = sourceOf(keys.url);
    const key = await source.refresh("p256", ES);
    keys.answer(() => undefined);
    const stuck = rejection(source.refresh("another", ES));
    await keys.arrived(2);
    expect(source.find("p256", ES)).to.equal(key);
    expect(await source.refresh("p256", ES)).to.equal(key);
    expect(await source.refresh("p256", "RS256")).to.equal(undefined);
    expect(await source.refresh(undefined, "RS256")).to.equal(undefined);
    expect(await readinessOf(source)).to.include({ healthy: true });
    source.stop();
    await stuck;
  });

  it("never opens a breaker when breakerFailures is 0 (KEY-9)", async () => {
    const clock = stoppedClock();
    await using keys = await issuer();
    keys.answer(failing());
    using source = sourceOf(keys.url, { now: clock.now, breakerFailures: 0 });
    for (let call = 1; call <= 6; call++) {
      await rejection(source.refresh("p256", ES));
      expect(keys.requests).to.equal(call);
      clock.advance(1.1);
    }
  });

  it("counts failed refreshes instead of attempts (KEY-9)", async () => {
    const clock = stoppedClock();
    await using keys = await issuer();
    keys.answer(failing());
    using source = sourceOf(keys.url, { now: clock.now, breakerFailures: 2, attempts: 2 });
    await rejection(source.refresh("p256", ES));
    clock.advance(1.1);
    await rejection(source.refresh("p256", ES));
    expect(keys.requests).to.equal(4);
    clock.advance(1.1);
    await rejection(source.refresh("p256", ES));
    expect(keys.requests).to.equal(4);
  });

  it("treats a set without a usable key as a failure, and keeps its keys (KEY-4)", async () => {
    const clock = stoppedClock();
    await using keys = await issuer(jwkOf("p256"));
    using source = sourceOf(keys.url, { now: clock.now });
    const key = await source.refresh("p256", ES);
    for (const next of [[], [jwkOf("p384")], [{ kty: "oct", kid: "p256", k: "AAAA" }]]) {
      keys.publish(...next);
      clock.advance(60);
      expect((await rejection(source.refresh("another", ES))).message).to.include("no usable key");
      expect(source.find("p256", ES)).to.equal(key);
      clock.advance(60);
      keys.publish(jwkOf("p256"));
      await source.refresh("another", ES);
    }
    expect(source.generation).to.equal(1);
  });

  it("drops its keys at the age of maxStaleSeconds, if set, and its check is then critical", async () => {
    const clock = stoppedClock();
    await using keys = await issuer(jwkOf("p256"));
    using source = sourceOf(keys.url, { now: clock.now, maxStaleSeconds: 3600 });
    await source.refresh("p256", ES);
    keys.answer(failing());
    await rejection(source.refresh("another", ES));
    clock.advance(3599);
    expect((await readinessOf(source)).critical).to.equal(false);
    expect(source.find("p256", ES)).not.to.equal(undefined);
    clock.advance(1);
    const { critical, detail } = await readinessOf(source);
    expect({ critical, generation: source.generation }).to.deep.equal({ critical: true, generation: 2 });
    expect(detail).to.match(
      /^keys cached 3600s ago were dropped; last refresh failed: the endpoint answered 503/,
    );
    expect(source.find("p256", ES)).to.equal(undefined);
    keys.publish(jwkOf("p256"));
    clock.advance(30);
    expect(await source.refresh("p256", ES)).not.to.equal(undefined);
  });

  it("drops stale keys even without a request", async () => {
    await using keys = await issuer(jwkOf("p256"));
    using source = sourceOf(keys.url, { maxAgeSeconds: 1, maxStaleSeconds: 2 });
    await source.refresh("p256", ES);
    keys.answer(failing());
    await until("the keys are there", () => (source.find("p256", ES) === undefined ? true : undefined));
    expect(source.generation).to.equal(2);
  });
});
