import { createCache } from "@svc/cache";
import { startRedis, testRedis, testRedisCluster } from "@svc/dev-services";
import { type Bucket, memoryStore, rateLimit, type Taken } from "@svc/rate-limit";
import { createRedis } from "@svc/redis";
import { expect } from "chai";
import { Cluster, Redis } from "ioredis";
import { takeScript } from "../src/bucket-script.ts";
import { lifetimeSeconds } from "../src/bucket.ts";
import { redisStore, type NodeRedisLike, type RedisLike } from "../src/redis-store.ts";
import { as, ask, limitedApp, statuses } from "./support/limited-app.ts";

const bucket: Bucket = { limit: 10, windowSeconds: 10, burst: 10 };
const hour: Bucket = { limit: 1, windowSeconds: 3600, burst: 5 };
const PATIENT = 15_000;

describe("rateLimit() with Redis", () => {
  const server = testRedis();
  let redis: Redis;
  before(() => {
    redis = new Redis(server.url);
  });
  beforeEach(async () => {
    await redis.flushdb();
  });
  after(() => redis.disconnect());

  it("RATE-1 RATE-2 RATE-3 ERR-20 shares the bucket of a caller among replicas", async () => {
    const replica = (): ReturnType<typeof limitedApp> => {
      const limit = rateLimit({
        ...hour,
        limit: 5,
        store: redis,
        service: "shop",
        commandTimeoutMs: PATIENT,
      });
      return limitedApp((each) => each.use(limit as never));
    };
    await using one = await replica();
    await using two = await replica();
    const ann = as({ subject: "ann" });
    expect(await statuses(one, 3, "/", ann)).to.deep.equal([200, 200, 200]);
    expect(await statuses(two, 3, "/", ann)).to.deep.equal([200, 200, 429]);
    const refused = await ask(one, "/", ann);
    expect(refused.body).to.deep.include({
      limit: 5,
      remaining: 0,
      detail: "Rate limit of 5 request(s) per 3600s exceeded.",
    });
    expect(Number(refused.headers.get("retry-after"))).to.be.within(1, 720);
    expect(Number(refused.headers.get("ratelimit-reset"))).to.be.within(2880, 3600);
  });

  it("stores one key per scope and identity, which expires when the bucket is full", async () => {
    const limit = rateLimit({ limit: 100, store: redis, service: "sh{o}p", commandTimeoutMs: PATIENT });
    await using app = await limitedApp((each) => each.use(limit as never));
    await ask(app, "/", as({ subject: "ann" }));
    await ask(app, "/", as({ subject: "{}:".repeat(2731) }));
    await ask(app);
    const keys = await redis.keys("*");
    expect(keys).to.have.length(3);
    expect(keys).to.include.members(["sh_o_p:rl:{default:sub:ann}", "sh_o_p:rl:{default:ip:127.0.0.1}"]);
    expect(keys.filter((key) => /^sh_o_p:rl:\{default:sub#[\w-]{43}\}$/.test(key))).to.have.length(1);
    for (const key of keys) expect(await redis.ttl(key)).to.be.within(59, 61);
    expect(await redis.get("sh_o_p:rl:{default:sub:ann}")).to.match(/^99000000 \d{16}$/);
  });

  it("sets a time to live of ceil(burst / rate) + 1 seconds on a key", () => {
    expect(lifetimeSeconds({ limit: 100, windowSeconds: 60, burst: 100 })).to.equal(61);
    expect(lifetimeSeconds({ limit: 7, windowSeconds: 60, burst: 10 })).to.equal(87);
    expect(lifetimeSeconds({ limit: 1e9, windowSeconds: 1, burst: 1 })).to.equal(2);
  });

  it("sends one command per request, and writes nothing for a refused request", async () => {
    // Other tests use the shared server at the same time, and its statistics would count their commands too.
    await using own = await startRedis();
    const client = new Redis(own.url);
    try {
      const limit = rateLimit({ limit: 1, windowSeconds: 3600, store: client, commandTimeoutMs: PATIENT });
      await using app = await limitedApp((each) => each.use(limit as never));
      await ask(app);
      const calls = async (): Promise<Readonly<Record<string, number>>> => {
        const lines = (await client.info("commandstats")).matchAll(/^cmdstat_(\w+):calls=(\d+)/gm);
        return Object.fromEntries([...lines].map(([, name = "", count]) => [name, Number(count)]));
      };
      const before = await calls();
      expect(await statuses(app, 10)).to.deep.equal(Array.from({ length: 10 }, () => 429));
      const after = await calls();
      const added = (name: string): number => (after[name] ?? 0) - (before[name] ?? 0);
      expect([added("evalsha"), added("eval"), added("time"), added("get"), added("set")]).to.deep.equal([
        10, 0, 10, 10, 0,
      ]);
    } finally {
      client.disconnect();
    }
  });

  it("loads the script again when Redis has lost it", async () => {
    const store = redisStore(redis);
    await store.take("key", hour, 1);
    await redis.script("FLUSH");
    expect(await store.take("key", hour, 1)).to.deep.include({ isAdmitted: true });
    expect((await store.take("key", hour, 1)).microTokens).to.be.within(2_000_000, 2_100_000);
  });

  it("gives the same results as the memory store for any sequence of requests", async () => {
    let seed = 7;
    const random = (below: number): number => (seed = (seed * 16_807) % 2_147_483_647) % below;
    const buckets: Bucket[] = [
      bucket,
      hour,
      { limit: 7, windowSeconds: 3, burst: 5 },
      { limit: 1e9, windowSeconds: 86_400, burst: 1e9 },
      { limit: 1, windowSeconds: 86_400, burst: 1e9 },
    ];
    let us = 1_764_000_000_000_000;
    const memory = memoryStore({ now: () => us / 1000 });
    for (let step = 0; step < 2000; step++) {
      const which = random(buckets.length);
      const each = buckets[which] as Bucket;
      us += [0, 1, 250, 1_000_000, 60_000_000][random(5)] ?? 0;
      const cost = 1 + random(Math.min(each.burst, 3 + random(2) * each.burst));
      const inRedis = await takeAt(redis, `key-${which}`, each, cost, us);
      expect(inRedis, `step ${step}`).to.deep.equal(memory.take(`key-${which}`, each, cost));
    }
  });

  it("refills a bucket after the clock of Redis jumps back, and at most fills it when the clock jumps ahead", async () => {
    const at = 1_764_000_000_000_000;
    const take = (us: number, cost = 1): Promise<Taken> => takeAt(redis, "key", bucket, cost, us);
    expect(await take(at, 10)).to.deep.equal({ isAdmitted: true, microTokens: 0 });
    const yesterday = at - 86_400_000_000;
    expect(await take(yesterday)).to.deep.equal({ isAdmitted: false, microTokens: 0 });
    // The bucket gains at the usual rate from then on; it does not wait for a day.
    expect(await take(yesterday + 1_000_000)).to.deep.equal({ isAdmitted: true, microTokens: 0 });
    expect(await take(at + 86_400_000_000, 10)).to.deep.equal({ isAdmitted: true, microTokens: 0 });
    expect(await take(at + 86_400_000_000)).to.deep.equal({ isAdmitted: false, microTokens: 0 });
  });

  it("applies a changed limit to an existing bucket", async () => {
    const at = 1_764_000_000_000_000;
    await takeAt(redis, "key", { ...bucket, burst: 1000 }, 1, at);
    expect(await takeAt(redis, "key", bucket, 1, at)).to.deep.equal({
      isAdmitted: true,
      microTokens: 9_000_000,
    });
  });

  it("counts exactly in a bucket of 1,000,000,000 tokens", async () => {
    const at = 1_764_000_000_000_000;
    const large: Bucket = { limit: 1e9, windowSeconds: 1, burst: 1e9 };
    expect(await takeAt(redis, "key", large, 1, at)).to.deep.equal({
      isAdmitted: true,
      microTokens: 999_999_999e6,
    });
    expect(await takeAt(redis, "key", large, 999_999_999, at)).to.deep.equal({
      isAdmitted: true,
      microTokens: 0,
    });
    expect(await redis.get("key")).to.equal(`0 ${at}`);
  });

  for (const [name, open] of [
    ["a connection of @svc/redis", () => createRedis({ url: server.url })],
    [
      "the connection of @svc/cache",
      () => {
        const cache = createCache({ url: server.url, keyPrefix: "p:" });
        return Object.assign(cache.redis, { stop: cache.stop });
      },
    ],
    ["a client with the methods of node-redis", () => likeNodeRedis(new Redis(server.url))],
  ] as const) {
    it(`limits requests with ${name}`, async () => {
      const client = open() as RedisLike & { readonly stop: () => unknown };
      try {
        await redis.script("FLUSH");
        const limit = rateLimit({ limit: 2, windowSeconds: 3600, store: client, commandTimeoutMs: PATIENT });
        await using app = await limitedApp((each) => each.use(limit as never));
        expect(await statuses(app, 3)).to.deep.equal([200, 200, 429]);
        expect(await limit.readiness().check(AbortSignal.timeout(PATIENT))).to.deep.include({
          healthy: true,
        });
      } finally {
        await client.stop();
      }
    });
  }
});

describe("rateLimit() with a Redis Cluster", function () {
  this.timeout(60_000);
  const server = testRedisCluster();

  it("spreads the buckets of the callers over all nodes", async () => {
    const client = new Cluster([...server.cluster.seeds]);
    try {
      const limit = rateLimit({ limit: 1, windowSeconds: 3600, store: client, commandTimeoutMs: PATIENT });
      await using app = await limitedApp((each) => each.use(limit as never));
      for (let caller = 0; caller < 12; caller++) {
        expect(await statuses(app, 2, "/", as({ subject: `s${caller}` }))).to.deep.equal([200, 429]);
      }
      const sizes = await Promise.all(client.nodes("master").map((node) => node.dbsize()));
      expect(sizes.reduce((sum, size) => sum + size)).to.equal(12);
      expect(sizes.filter((size) => size > 0)).to.have.length(3);
    } finally {
      client.disconnect();
    }
  });
});

/** Runs the script with a given time instead of the server's. */
async function takeAt(redis: Redis, key: string, bucket: Bucket, cost: number, us: number): Promise<Taken> {
  const source = takeScript.source.replace(
    "redis.call('TIME')",
    "{ string.sub(ARGV[6], 1, -7), string.sub(ARGV[6], -6) }",
  );
  expect(source).not.to.equal(takeScript.source);
  const { limit, windowSeconds, burst } = bucket;
  const args = [limit, windowSeconds, burst, cost, lifetimeSeconds(bucket), us];
  const level = (await redis.eval(source, 1, key, ...args)) as number;
  return level < 0
    ? { isAdmitted: false, microTokens: -1 - level }
    : { isAdmitted: true, microTokens: level };
}

/** Returns a client with the methods and the error class of node-redis. */
function likeNodeRedis(redis: Redis): NodeRedisLike & { stop(): void } {
  const inOwnClass = (error: Error): never => {
    class SimpleError extends Error {}
    throw new SimpleError(error.message);
  };
  return {
    evalSha: (sha, { keys, arguments: rest }) =>
      redis.evalsha(sha, keys.length, ...keys, ...rest).catch(inOwnClass),
    eval: (source, { keys, arguments: rest }) =>
      redis.eval(source, keys.length, ...keys, ...rest).catch(inOwnClass),
    stop: () => redis.disconnect(),
  };
}
