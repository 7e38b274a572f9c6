import { testRedis } from "@svc/dev-services";
import { ConfigurationError } from "@svc/options";
import { rejection } from "@svc/test-support";
import { TokenStoreError } from "@svc/token-store";
import { createRedisTokenStore, type RedisLike, type RedisTokenStoreOptions } from "@svc/token-store/redis";
import { expect } from "chai";
import { Redis } from "ioredis";
import { again, presented } from "./support/presentations.ts";

describe("createRedisTokenStore", () => {
  const server = testRedis();
  const clients: Redis[] = [];
  before(
    () => void clients.push(new Redis(server.url), new Redis(server.url, { enableAutoPipelining: true })),
  );
  after(() => clients.splice(0).forEach((client) => client.disconnect()));

  function client(index = 0): Redis {
    const redis = clients[index];
    if (redis === undefined) throw new Error("not connected");
    return redis;
  }
  const storeOn = (index = 0, options: Partial<RedisTokenStoreOptions> = {}) =>
    createRedisTokenStore({
      redis: client(index),
      keyPrefix: `${server.keyPrefix}t:`,
      // This time limit exceeds any pause of a busy machine.
      timeoutMs: 15_000,
      ...options,
    });

  it("rotates a token once when two replicas receive it 16 times each concurrently, in each of 100 rounds (REF-7, REF-19)", async () => {
    const replicas = [storeOn(0), storeOn(1)];
    for (let round = 0; round < 100; round++) {
      const token = presented();
      const results = await Promise.all(
        Array.from({ length: 16 }, () => replicas.map((store) => store.rotate(again(token)))).flat(),
      );
      expect(results.filter((result) => result === "rotated")).to.have.length(1);
      expect(results.filter((result) => result === "raced")).to.have.length(31);
    }
  });

  it("dates a sign-in by the server's clock, not the caller's (REV-10)", async () => {
    const store = storeOn();
    const seconds = async (): Promise<number> => Number((await client().time())[0]);
    for (const nowSeconds of [0, 4e9]) {
      const [from, began, to] = [
        await seconds(),
        await store.signInTime("dated", nowSeconds),
        await seconds(),
      ];
      expect(began).to.be.within(from, to);
    }
  });

  it("updates a sign-out that the application stored without expiry, and does not add an expiry (REV-10)", async () => {
    const prefix = `${server.keyPrefix}lasting:`;
    const store = storeOn(0, { keyPrefix: prefix });
    await client().set(`${prefix}s:{ann}`, "5");
    const notBefore = await store.revokeSubjectNow("ann", 0, 60);
    expect(await client().get(`${prefix}s:{ann}`)).to.equal(String(notBefore));
    expect(await client().pttl(`${prefix}s:{ann}`)).to.equal(-1);
  });

  it("sets an expiry on every entry: a used token, a revoked token, a family and a sign-out (REV-9)", async () => {
    const prefix = `${server.keyPrefix}ttl:`;
    const store = storeOn(0, { keyPrefix: prefix });
    const token = presented({ usedTtlSeconds: 100, familyTtlSeconds: 300, graceSeconds: 0 });
    await store.rotate(token);
    const other = presented();
    await store.revoke(other.jti, 400);
    await store.revokeSubject(other.sub, 1, 500);
    const ends = async (): Promise<Record<string, number>> => {
      const keys = await client().keys(`${prefix}*`);
      const left = await Promise.all(keys.map((key) => client().pttl(key)));
      return Object.fromEntries(
        keys.map((key, index) => [
          key.slice(prefix.length, prefix.length + 1),
          Math.ceil((left[index] ?? 0) / 100_000),
        ]),
      );
    };
    expect(await ends()).to.deep.equal({ u: 1, j: 4, s: 5 });
    await store.rotate(again(token));
    expect(await ends()).to.deep.equal({ u: 1, j: 4, s: 5, f: 3 });
  });

  it("does not extend the revocation of a family at another replay (REF-6)", async () => {
    const prefix = `${server.keyPrefix}once:`;
    const store = storeOn(0, { keyPrefix: prefix });
    const token = presented({ familyTtlSeconds: 300 });
    await store.revokeFamily(token.fam, 300);
    await client().pexpire(`${prefix}f:{${token.fam}}`, 100_000);
    expect(await store.rotate(token)).to.equal("replayed");
    expect(await client().pttl(`${prefix}f:{${token.fam}}`)).to.be.within(1, 100_000);
    expect(await client().keys(`${prefix}u:*`), "consumed").to.deep.equal([]);
  });

  it("does not add an expiry to an entry that an operator made permanent (REV-9)", async () => {
    const prefix = `${server.keyPrefix}kept:`;
    const store = storeOn(0, { keyPrefix: prefix });
    const token = presented();
    for (let round = 0; round < 2; round++) {
      await store.revokeFamily(token.fam, 10);
      await store.revokeSubject(token.sub, token.signedInAt + 1 + round, 10);
      for (const key of await client().keys(`${prefix}*`)) await client().persist(key);
    }
    await store.revokeFamily(token.fam, 10);
    await store.revokeSubject(token.sub, token.signedInAt + 9, 10);
    const kept = await client().keys(`${prefix}*`);
    expect(kept).to.have.lengthOf(2);
    for (const key of kept) expect(await client().pttl(key)).to.equal(-1);
    expect(await store.isRevoked({ ...token, fam: undefined, signedInAt: token.signedInAt + 8 })).to.equal(
      true,
    );
  });

  it("sends one command for a check and one for a rotation", async () => {
    const sent: string[] = [];
    const redis = client();
    const noted: RedisLike = {
      eval: (script, count, ...rest) => redis.eval(script, count, ...rest),
      evalsha: (sha, count, ...rest) => (sent.push("evalsha"), redis.evalsha(sha, count, ...rest)),
      mget: (...keys) => (sent.push("mget"), redis.mget(...keys)),
    };
    const store = storeOn(0, { redis: noted });
    await store.rotate(presented());
    sent.length = 0;
    const token = presented();
    await store.isRevoked(token);
    await store.rotate(token);
    await store.revokeFamily(token.fam, 1);
    await store.revoke(token.jti, 1);
    await store.revokeSubject(token.sub, 1, 1);
    expect(sent).to.deep.equal(["mget", "evalsha", "evalsha", "evalsha", "evalsha"]);
  });

  it("loads its scripts again when Redis lost them", async () => {
    const store = storeOn();
    const token = presented();
    await client().script("FLUSH");
    expect(await store.rotate(token)).to.equal("rotated");
    await client().script("FLUSH");
    expect(await store.rotate(again(token))).to.equal("raced");
    await client().script("FLUSH");
    await store.revokeFamily(token.fam, 60);
    await client().script("FLUSH");
    await store.revokeSubject(token.sub, 1, 60);
    expect(await store.isRevoked(token)).to.equal(true);
  });

  for (const hours of [-1, 1]) {
    it(`uses the clock of Redis when the local clock is ${hours} h off (REF-14)`, async () => {
      const off = storeOn(0, { now: () => Date.now() + hours * 3_600_000 });
      const token = presented({ graceSeconds: 60 });
      expect(await off.rotate(token)).to.equal("rotated");
      expect(await storeOn(1).rotate(again(token))).to.equal("raced");
      expect(await off.rotate(again(token))).to.equal("raced");
    });
  }

  it("rejects durations and times that are not finite numbers", async () => {
    const store = storeOn();
    for (const operation of [
      () => store.revoke("a", Number.NaN),
      () => store.revokeSubject("a", Number.NaN, 1),
      () => store.rotate(presented({ graceSeconds: 1e12 })),
    ]) {
      const error = await rejection(operation);
      expect(error).to.be.instanceOf(TokenStoreError).with.property("code", "ERR_SVC_TOKEN_STORE_ARGUMENT");
    }
  });

  it("rejects unknown and invalid options", () => {
    const wrong = [{ redis: {} }, { redis: client(), keyPrefix: "a{b}" }, { redis: client(), timeoutMs: 0 }];
    for (const options of wrong) {
      expect(() => createRedisTokenStore(options as RedisTokenStoreOptions)).to.throw(ConfigurationError);
    }
  });

  it("has a readiness check that is healthy and not critical while Redis responds", async () => {
    const check = storeOn().readiness();
    expect({ name: check.name, critical: check.critical }).to.deep.equal({
      name: "token-store",
      critical: false,
    });
    expect(await check.check(AbortSignal.timeout(5_000))).to.deep.equal({
      healthy: true,
      detail: "answering",
    });
  });
});
