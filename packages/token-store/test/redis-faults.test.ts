import { type RedisServer, startRedis, testProgram, testRedis } from "@svc/dev-services";
import { rejection, until } from "@svc/test-support";
import { createRedisTokenStore, type RedisLike } from "@svc/token-store/redis";
import { expect } from "chai";
import { Redis, type RedisOptions } from "ioredis";
import { setTimeout as sleep } from "node:timers/promises";
import { answerCutter } from "./support/answer-cutter.ts";
import { again, presented } from "./support/presentations.ts";

const strict = {
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  retryStrategy: (): number => 20,
} satisfies RedisOptions;

describe("createRedisTokenStore on a connection that breaks", () => {
  const server = testRedis();

  for (const [how, settings] of [
    ["a client that retries by itself", { retryStrategy: strict.retryStrategy }],
    ["a client that does not retry", strict],
  ] as const) {
    it(`rotates again for the request whose response was lost, with ${how} (REF-4, REF-19)`, async () => {
      await using between = await answerCutter(server.url);
      const redis = new Redis(between.url, { ...settings });
      redis.on("error", () => undefined);
      const direct = new Redis(server.url);
      try {
        await redis.ping().catch(() => new Promise((resolve) => redis.once("ready", resolve)));
        const keyPrefix = `${server.keyPrefix}c:`;
        const store = createRedisTokenStore({ redis, keyPrefix, timeoutMs: 15_000 });
        const other = createRedisTokenStore({ redis: direct, keyPrefix, timeoutMs: 15_000 });
        await store.rotate(presented());
        for (let round = 1; round <= 5; round++) {
          const token = presented();
          between.cutNext(1);
          expect(await store.rotate(token)).to.equal("rotated");
          expect(between.cuts).to.equal(round);
          expect(await other.rotate(again(token))).to.equal("raced");
        }
        const fam = presented();
        between.cutNext(1);
        await store.revokeFamily(fam.fam, 60);
        expect(await other.isRevoked(fam)).to.equal(true);
      } finally {
        redis.disconnect();
        direct.disconnect();
      }
    });
  }
});

describe("createRedisTokenStore on a Redis that fails", function () {
  this.timeout(60_000);
  testProgram("redis");
  let server: RedisServer;
  let redis: Redis;
  before(async () => {
    server = await startRedis();
    redis = new Redis(server.url, { retryStrategy: (): number => 20 });
    redis.on("error", () => undefined);
  });
  after(async () => {
    redis.disconnect();
    await server.stop();
  });
  const store = (timeoutMs = 15_000) => createRedisTokenStore({ redis, timeoutMs });

  it("rejects at the deadline while Redis hangs, and does not use up a token when Redis executes the call later (REF-17, RDY-22)", async () => {
    const hasty = store(150);
    await until("it has learned the clock of Redis", () =>
      hasty.rotate(presented()).then(
        () => true,
        () => false,
      ),
    );
    const token = presented();
    server.pause();
    try {
      const refusals = await Promise.all([
        rejection(() => hasty.rotate(token)),
        rejection(() => hasty.isRevoked(token)),
        rejection(() => hasty.revokeFamily("f", 60)),
      ]);
      for (const error of refusals) expect(error).to.have.property("code", "ERR_SVC_DEADLINE");
      expect(await hasty.readiness().check(AbortSignal.timeout(5_000))).to.deep.equal({
        healthy: false,
        detail: "not answering (no answer within 150 ms)",
      });
      // Let the deadline pass by the server's clock as well.
      await sleep(5);
    } finally {
      server.resume();
    }
    expect(await store().rotate(again(token))).to.equal("rotated");
    await until(
      "it is ready again",
      async () => (await hasty.readiness().check(AbortSignal.timeout(5_000))).healthy,
    );
  });

  it("rejects a sign-out at the deadline while Redis hangs, and ends no session when Redis executes it later (REV-10)", async () => {
    const hasty = store(150);
    await until("it has learned the clock of Redis", () =>
      hasty.revokeSubjectNow("learned", 0, 60).then(
        () => true,
        () => false,
      ),
    );
    server.pause();
    try {
      const error = await rejection(() => hasty.revokeSubjectNow("ann", 0, 60));
      expect(error).to.have.property("code", "ERR_SVC_DEADLINE");
      // Let the deadline pass by the server's clock as well.
      await sleep(5);
    } finally {
      server.resume();
    }
    expect(await store().isRevoked(presented({ sub: "ann", signedInAt: 0 }))).to.equal(false);
    await store().revokeSubjectNow("ann", 0, 60);
    expect(await store().isRevoked(presented({ sub: "ann", signedInAt: 0 }))).to.equal(true);
  });

  it("relies on the client's time limit for a check if this limit is not longer than timeoutMs (REV-7)", async () => {
    const never = (): Promise<never> => new Promise(() => undefined);
    const client = (commandTimeoutMs: number, mget: RedisLike["mget"]) =>
      createRedisTokenStore({
        timeoutMs: 20,
        redis: { eval: never, evalsha: never, mget, commandTimeoutMs },
      });
    const late: RedisLike["mget"] = (...keys) => sleep(60, Array<null>(keys.length).fill(null));
    expect(await client(20, late).isRevoked(presented())).to.equal(false);
    const error = await rejection(() => client(21, never).isRevoked(presented()));
    expect(error).to.have.property("code", "ERR_SVC_DEADLINE");
    expect(await rejection(() => client(20, async () => []).isRevoked(presented()))).to.be.instanceOf(
      TypeError,
    );
  });

  it("rejects with the error from Redis when Redis accepts no writes, and does not use up the token (REF-17)", async () => {
    const token = presented();
    const patient = store();
    await redis.config("SET", "maxmemory", "1");
    const full = await rejection(() => patient.rotate(token));
    expect(String(full)).to.match(/OOM/);
    await redis.config("SET", "maxmemory", "0");
    await redis.replicaof("127.0.0.1", 1);
    const readOnly = await rejection(() => patient.rotate(token));
    expect(String(readOnly)).to.match(/READONLY/);
    await redis.replicaof("NO", "ONE");
    expect(await patient.rotate(token)).to.equal("rotated");
  });

  it("reports a Redis whose eviction policy may drop revocations (RDY-22)", async () => {
    const check = () => store().readiness().check(AbortSignal.timeout(15_000));
    expect(await check()).to.deep.equal({ healthy: true, detail: "answering" });
    await redis.config("SET", "maxmemory-policy", "allkeys-lru");
    expect(await check()).to.deep.equal({
      healthy: true,
      detail: "answering; may drop revocations (allkeys-lru)",
    });
    await redis.config("SET", "maxmemory-policy", "noeviction");
    const hidden: RedisLike = {
      eval: () => Promise.reject(new Error("NOPERM")),
      evalsha: (sha, count, ...rest) => redis.evalsha(sha, count, ...rest),
      mget: (...keys) => redis.mget(...keys),
    };
    expect(
      await createRedisTokenStore({ redis: hidden, timeoutMs: 15_000 })
        .readiness()
        .check(AbortSignal.timeout(15_000)),
    ).to.deep.equal({
      healthy: true,
      detail: "answering",
    });
  });

  it("accepts used and revoked tokens again after Redis has lost its data", async () => {
    const patient = store();
    const token = presented();
    const revoked = presented();
    expect(await patient.rotate(token)).to.equal("rotated");
    await patient.revokeFamily(revoked.fam, 600);
    await server.restart();
    expect(await patient.isRevoked(revoked)).to.equal(false);
    expect(await patient.rotate(again(token))).to.equal("rotated");
    await patient.revokeFamily(revoked.fam, 600);
    await redis.flushall();
    expect(await patient.isRevoked(revoked)).to.equal(false);
  });

  it("rejects immediately when there is no connection and the client does not wait for one (REF-17)", async () => {
    const gone = new Redis(server.url, { ...strict, lazyConnect: true });
    gone.on("error", () => undefined);
    const error = await rejection(() =>
      createRedisTokenStore({ redis: gone, timeoutMs: 15_000 }).rotate(presented()),
    );
    expect(error).to.be.instanceOf(Error);
    expect(error).not.to.have.property("code", "ERR_SVC_DEADLINE");
    gone.disconnect();
  });
});
