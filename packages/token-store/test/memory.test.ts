import { ConfigurationError } from "@svc/options";
import { rejection } from "@svc/test-support";
import { createMemoryTokenStore, type MemoryTokenStoreOptions, TokenStoreError } from "@svc/token-store";
import { expect } from "chai";
import { again, id, presented } from "./support/presentations.ts";

function filled(options: MemoryTokenStoreOptions = {}) {
  let now = 0;
  const warnings: object[] = [];
  const logger = { warn: (fields: object) => void warnings.push(fields) };
  const store = createMemoryTokenStore({ maxEntries: 10, logger, now: () => now, ...options });
  const pass = (ms: number): void => void (now += ms);
  return { store, warnings, pass };
}

async function fullOf(operation: () => unknown): Promise<void> {
  const error = await rejection(operation);
  expect(error).to.be.instanceOf(TokenStoreError).with.property("code", "ERR_SVC_TOKEN_STORE_FULL");
}

describe("createMemoryTokenStore", () => {
  it("returns results synchronously, without promises", () => {
    using store = createMemoryTokenStore();
    const token = presented();
    expect(store.rotate(token)).to.equal("rotated");
    expect(store.isRevoked(token)).to.equal(false);
    expect(store.revoke(token.jti, 1)).to.equal(undefined);
    expect(store.revokeFamily(token.fam, 1)).to.equal(undefined);
    expect(store.revokeSubject(token.sub, 1, 1)).to.equal(undefined);
    expect(store.isRevoked(token)).to.equal(true);
  });

  it("has a healthy, non-critical readiness check that states the store's limits (RDY-23)", async () => {
    using store = createMemoryTokenStore({ name: "tokens" });
    store.revoke("a", 1);
    const check = store.readiness();
    expect({ name: check.name, critical: check.critical }).to.deep.equal({ name: "tokens", critical: false });
    expect(await check.check(AbortSignal.timeout(5_000))).to.deep.equal({
      healthy: true,
      detail: "in-memory token store: revocation does not survive a restart or reach other replicas",
      meta: { entries: 1, max_entries: 100_000 },
    });
  });

  it("rejects rotations when it is full, and keeps every live entry (REF-17)", async () => {
    const { store } = filled();
    const used = Array.from({ length: 9 }, () => presented());
    for (const token of used) expect(store.rotate(token)).to.equal("rotated");
    await fullOf(() => store.rotate(presented()));
    for (const token of used) {
      expect(store.rotate(again(token))).to.equal("raced");
      expect(store.rotate(token)).to.equal("rotated");
    }
    expect(store.size).to.equal(9);
    store.stop();
    expect(store.size).to.equal(0);
  });

  it("reserves its last tenth for revocations, and still extends existing revocations when it is full (REF-17)", async () => {
    const { store } = filled();
    const used = Array.from({ length: 9 }, () => presented({ graceSeconds: 0 }));
    for (const token of used) store.rotate(token);
    const [first = presented(), second = presented()] = used;
    expect(store.rotate(again(first))).to.equal("replayed");
    await fullOf(() => store.revoke(id(), 60));
    await fullOf(() => store.revokeFamily(id(), 60));
    await fullOf(() => store.revokeSubject(id(), 1, 60));
    await fullOf(() => store.rotate(again(second)));
    store.revokeFamily(first.fam, 90_000);
    expect(store.isRevoked(first)).to.equal(true);
    store.stop();
  });

  it("accepts entries again when older entries have expired", async () => {
    const { store, pass } = filled();
    for (let count = 0; count < 9; count++) store.rotate(presented({ usedTtlSeconds: 60 }));
    await fullOf(() => store.rotate(presented()));
    pass(60_000);
    expect(store.rotate(presented())).to.equal("rotated");
    expect(store.size).to.equal(1);
    store.stop();
  });

  it("warns at most every 10 s that it is full", async () => {
    const { store, warnings, pass } = filled();
    for (let count = 0; count < 9; count++) store.rotate(presented());
    for (let count = 0; count < 5; count++) await fullOf(() => store.rotate(presented()));
    expect(warnings).to.deep.equal([{ entries: 9, maxEntries: 10, suppressed: 0 }]);
    pass(9_999);
    await fullOf(() => store.rotate(presented()));
    pass(1);
    await fullOf(() => store.rotate(presented()));
    expect(warnings).to.deep.equal([
      { entries: 9, maxEntries: 10, suppressed: 0 },
      { entries: 9, maxEntries: 10, suppressed: 5 },
    ]);
    store.stop();
  });

  it("throws the error of a full store even if its logger throws", async () => {
    const logger = {
      warn(): never {
        throw new Error("the disk is full");
      },
    };
    const { store } = filled({ logger });
    for (let count = 0; count < 9; count++) store.rotate(presented());
    await fullOf(() => store.rotate(presented()));
    store.stop();
  });

  it("rejects durations and times that are not finite numbers, and names them", () => {
    using store = createMemoryTokenStore();
    expect(() => store.revoke("a", Number.NaN))
      .to.throw(TokenStoreError, "ttlSeconds must be a number of seconds, at most 100 years; it is NaN")
      .with.property("code", "ERR_SVC_TOKEN_STORE_ARGUMENT");
    expect(() => store.revokeSubject("a", Number.NaN, 1)).to.throw(TokenStoreError, "notBefore");
    expect(() => store.rotate(presented({ usedTtlSeconds: Infinity }))).to.throw(TokenStoreError, "usedTtl");
  });

  it("rejects unknown and invalid options", () => {
    for (const wrong of [{ maxEntries: 0 }, { now: 1 }, { logger: {} }, { maxEntrys: 100 }]) {
      expect(() => createMemoryTokenStore(wrong as MemoryTokenStoreOptions)).to.throw(ConfigurationError);
    }
  });
});
