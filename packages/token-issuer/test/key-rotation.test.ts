import { createKeySetSource, createVerifier, type Verifier } from "@svc/jwt-auth";
import { listen } from "@svc/test-support";
import { addKey, createKeyRing, type KeyRing, promoteKey, retireKey, writeRing } from "@svc/token-issuer";
import { expect } from "chai";
import { claims, key, ring, start } from "./support/rings.ts";

const second = 1000;

interface Issued {
  readonly token: string;
  readonly expires: number;
  readonly verifiers: readonly Verifier[];
}

describe("a rotation of signing keys under load", function () {
  this.timeout(60_000);

  it("never causes a valid token to be rejected while keys of several algorithms are added, promoted and retired (KEY-3)", async () => {
    let now = start;
    const clock = (): number => now;
    const lifetimes = { accessSeconds: 900, refreshSeconds: 3600, leewaySeconds: 30 };
    let document = { ...(await ring("RS256")), lifetimes };
    // Two replicas of the issuer; the second one sees a change half a minute later.
    const replicas = [0, 1].map(() => createKeyRing({ text: writeRing(document), now: clock }));
    const [prompt, late] = replicas as [KeyRing, KeyRing];
    await using server = await listen((_req, res) => {
      // The published set may be a minute old, because of the second replica and of caches on the way.
      const published = late.jwks();
      res.setHeader("Content-Type", "application/json");
      res.setHeader("Cache-Control", published?.cacheControl ?? "");
      res.end(published?.body);
    });
    const algorithms = ["RS256", "EdDSA", "ES256"] as const;
    const source = createKeySetSource({
      url: `${server.url}/.well-known/jwks.json`,
      env: "local",
      algorithms,
      now: clock,
    });
    const service = createVerifier({ keys: source, algorithms, now: clock });
    const own = replicas.map((keys) => createVerifier({ keys, now: clock }));
    const refreshes = replicas.map((keys) => createVerifier({ keys, now: clock, tokenUse: "refresh" }));

    let issued: Issued[] = [];
    let verified = 0;
    const refused: unknown[] = [];
    const changes: (() => void)[] = [];
    const pending: { readonly at: number; readonly text: string }[] = [];

    function publish(): void {
      prompt.load(writeRing(document));
      pending.push({ at: now + 30 * second, text: writeRing(document) });
    }
    async function load(): Promise<void> {
      while ((pending[0]?.at ?? Infinity) <= now) late.load(pending.shift()?.text ?? "");
      for (const keys of replicas) {
        const access = await keys.signer().sign(claims(now, lifetimes.accessSeconds));
        const refresh = await keys.signer().sign(claims(now, lifetimes.refreshSeconds, "refresh"));
        issued.push({
          token: access,
          expires: now + lifetimes.accessSeconds * second,
          verifiers: [service, ...own],
        });
        issued.push({
          token: refresh,
          expires: now + lifetimes.refreshSeconds * second,
          verifiers: refreshes,
        });
      }
      issued = issued.filter(({ expires }) => expires > now);
      const checks = issued.flatMap(({ token, verifiers }) => verifiers.map((each) => each.verify(token)));
      // Change the keys while requests are in flight.
      changes.shift()?.();
      for (const outcome of await Promise.all(checks.map((check) => Promise.resolve(check)))) {
        verified += 1;
        if ("reason" in outcome) refused.push({ ...outcome, now: now - start });
      }
    }
    async function pass(seconds: number): Promise<void> {
      const end = now + seconds * second;
      while (now < end) {
        now += 30 * second;
        await load();
      }
    }

    await load();
    for (const algorithm of ["EdDSA", "ES256"] as const) {
      const next = await key(algorithm, 7);
      changes.push(() => {
        document = { ...addKey(document, next, now), lifetimes };
        publish();
      });
      await pass(150);
      changes.push(() => {
        document = { ...promoteKey(document, now), lifetimes };
        publish();
      });
      await pass(lifetimes.refreshSeconds + 150 + 30);
      const previous = document.keys.find((each) => each.state === "previous")?.kid ?? "";
      changes.push(() => {
        document = { ...retireKey(document, previous, now), lifetimes };
        publish();
      });
      await pass(300);
      expect(prompt.signer().algorithm).to.equal(algorithm);
      expect(late.find(previous, "RS256")).to.equal(undefined);
    }
    source.stop?.();
    expect(refused).to.deep.equal([]);
    expect(verified).to.be.above(50_000);
    expect(document.keys.map((each) => each.state)).to.deep.equal(["retired", "retired", "current"]);
  });

  it("lets a lagging replica verify tokens that other replicas sign with the new key (KEY-3)", async () => {
    const document = addKey(await ring(), await key("ES256", 1), start);
    const [ahead, behind] = [writeRing(promoteKey(document, start + 120_000)), writeRing(document)].map(
      (text) => createKeyRing({ text }),
    ) as [KeyRing, KeyRing];
    expect(ahead.signer().kid).to.not.equal(behind.signer().kid);
    for (const [signs, verifies] of [
      [ahead, behind],
      [behind, ahead],
    ] as const) {
      const token = await signs.signer().sign(claims(Date.now()));
      expect(await createVerifier({ keys: verifies }).verify(token)).to.have.property("principal");
    }
  });
});
