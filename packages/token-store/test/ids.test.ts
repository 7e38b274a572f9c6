import { testDatabase, testRedis } from "@svc/dev-services";
import { rejection } from "@svc/test-support";
import { createMemoryTokenStore, type Rotation, type TokenStore, TokenStoreError } from "@svc/token-store";
import { createRedisTokenStore } from "@svc/token-store/redis";
import { expect } from "chai";
import { Redis } from "ioredis";
import { openStore } from "./support/postgres.ts";
import { id, presented } from "./support/presentations.ts";

// Plain JavaScript can pass these values instead of strings.
const none = [undefined, null, 5, ["a"], {}] as unknown as readonly string[];

describe("an id that is not a string", () => {
  const server = testRedis();
  const database = testDatabase({ name: "token-store-ids" });

  async function refuses(store: TokenStore): Promise<void> {
    for (const wrong of none) {
      for (const call of [
        () => store.revoke(wrong, 60),
        () => store.revokeFamily(wrong, 60),
        () => store.revokeSubject(wrong, 1, 60),
        () => store.signInTime?.(wrong, 1),
        () => store.revokeSubjectNow?.(wrong, 1, 60),
        ...(["jti", "fam", "sub", "nonce"] as const).map(
          (name) => () => store.rotate({ ...presented(), [name]: wrong } satisfies Rotation),
        ),
      ]) {
        const error = await rejection(call);
        expect(error).to.be.instanceOf(TokenStoreError).with.property("code", "ERR_SVC_TOKEN_STORE_ARGUMENT");
        expect(String(error)).to.match(/(jti|fam|sub|nonce) must be a (non-empty )?string/);
      }
    }
    const error = await rejection(() => store.rotate({ ...presented(), nonce: "" }));
    expect(String(error)).to.include("nonce must be a non-empty string; it is string");
    const fam = id();
    expect(await store.rotate(presented({ jti: "", fam, sub: "" })), "an empty one is an id").to.equal(
      "rotated",
    );
  }

  it("is rejected by the memory store, which then stores nothing (REF-7)", async () => {
    using store = createMemoryTokenStore();
    await refuses(store);
    expect(store.size).to.equal(1);
  });

  it("is rejected by the Redis store, which then stores nothing (REF-7)", async () => {
    const redis = new Redis(server.url);
    const keyPrefix = `${server.keyPrefix}ids:`;
    try {
      await refuses(createRedisTokenStore({ redis, keyPrefix, timeoutMs: 60_000 }));
      expect(await redis.keys(`${keyPrefix}*`)).to.have.lengthOf(1);
    } finally {
      redis.disconnect();
    }
  });

  it("is rejected by the PostgreSQL store, which then stores nothing (REF-7)", async () => {
    await using bench = await openStore(database.url);
    await refuses(bench.store);
    const { rows } = await bench.pool.query("select key from svc_auth_marks");
    expect(rows).to.have.lengthOf(1);
  });
});
