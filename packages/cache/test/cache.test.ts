import { type Cache, type CacheEvent, type CacheOptions, CacheValueError, createCache } from "@svc/cache";
import { type RedisServer, startRedis, testProgram, testRedis } from "@svc/dev-services";
import { ConfigurationError } from "@svc/options";
import { collectingLogger, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { PATIENT } from "./support/warm-cache.ts";

const ready = (cache: Cache) => cache.readiness().check(AbortSignal.timeout(5000));

describe("getOrSet", () => {
  const redis = testRedis();
  const events: CacheEvent[] = [];
  let cache: Cache;
  let prefix: string;
  const open = (options: Partial<CacheOptions> = {}): Cache =>
    createCache({ url: redis.url, keyPrefix: prefix, ...PATIENT, ...options });
  before(() => {
    prefix = `${redis.keyPrefix}test:`;
    cache = open({ onEvent: (event) => void events.push(event), maxValueBytes: 1000 });
  });
  after(() => cache.stop());
  beforeEach(() => void events.splice(0));

  it("calls fill once, and stores its result under the prefixed key for ttlSeconds", async () => {
    expect(await cache.getOrSet("one", 60, async () => ({ sum: 42 }))).to.deep.equal({ sum: 42 });
    expect(await cache.getOrSet("one", 60, () => ({ sum: 0 }))).to.deep.equal({ sum: 42 });
    expect(events).to.deep.equal(["miss", "hit"]);
    await using bare = open({ keyPrefix: "" });
    expect(await bare.redis.call("get", `${prefix}one`)).to.equal('{"sum":42}');
    expect(await bare.redis.call("pttl", `${prefix}one`)).to.be.within(1, 60_000);
  });

  it("runs one fill per key at a time, and gives every caller its own copy", async () => {
    let fillings = 0;
    const fill = async (): Promise<{ n: number }> => {
      fillings += 1;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return { n: fillings };
    };
    const all = await Promise.all(Array.from({ length: 100 }, () => cache.getOrSet("crowd", 60, fill)));
    expect(fillings).to.equal(1);
    expect(new Set(all).size).to.equal(100);
    expect(all.every(({ n }) => n === 1)).to.equal(true);
    expect(events.filter((event) => event === "suppressed")).to.have.length(99);
  });

  it("passes a fill error to all waiting callers, stores nothing, and fills again at the next call", async () => {
    const failing = (): Promise<never> => Promise.reject(new Error("no luck"));
    const errors = await Promise.all(
      [1, 2, 3].map(async () => rejection(cache.getOrSet("unlucky", 60, failing))),
    );
    expect(new Set(errors).size).to.equal(1);
    expect(await cache.getOrSet("unlucky", 60, () => "luck")).to.equal("luck");
  });

  it("aborts a hanging fill at fillTimeoutMs; the next call for the key runs its own fill", async () => {
    await using hurried = open({ fillTimeoutMs: 300 });
    let aborted = false;
    const error = await rejection(
      hurried.getOrSet("hung", 60, (signal) => {
        signal.addEventListener("abort", () => (aborted = true));
        return new Promise(() => undefined);
      }),
    );
    expect(error.code).to.equal("ERR_SVC_DEADLINE");
    expect(aborted).to.equal(true);
    expect(await hurried.getOrSet("hung", 60, () => 1)).to.equal(1);
  });

  it("returns undefined and oversized values without storing them", async () => {
    const long = "x".repeat(1000);
    expect(await cache.getOrSet("long", 60, () => long)).to.equal(long);
    expect(await cache.getOrSet("none", 60, () => undefined)).to.equal(undefined);
    expect(await cache.redis.exists("long", "none")).to.equal(0);
    expect(events).to.deep.equal(["miss", "too_large", "miss"]);
  });

  it("calls fill when the stored value is not JSON, is too long or is not a Redis string", async () => {
    await cache.redis.call("set", "broken", "{");
    expect(await cache.get("broken")).to.equal(undefined);
    expect(await cache.getOrSet("broken", 60, () => "whole")).to.equal("whole");
    expect(await cache.get("broken")).to.equal("whole");
    await cache.redis.call("set", "huge", JSON.stringify("x".repeat(100_000)));
    expect(await cache.getOrSet("huge", 60, () => "small")).to.equal("small");
    await cache.redis.call("lpush", "list", "1");
    expect(await cache.getOrSet("list", 60, () => "filled")).to.equal("filled");
    expect(await cache.get("list")).to.equal("filled");
  });

  it("does not store the result of a fill if its key was set or deleted in the meantime", async () => {
    let begun = (): void => undefined;
    const started = new Promise<void>((resolve) => (begun = resolve));
    let finish = (): void => undefined;
    const filled = cache.getOrSet("raced", 60, async () => {
      begun();
      await new Promise<void>((resolve) => (finish = resolve));
      return "old";
    });
    await started;
    await cache.delete("raced");
    finish();
    expect(await filled).to.equal("old");
    expect(await cache.get("raced")).to.equal(undefined);
  });

  it("rejects values that are not JSON or too long, invalid keys and lifetimes, and a fill that is not a function", async () => {
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    for (const value of [circle, 1n, undefined, () => 1, "x".repeat(1000)]) {
      const error = await rejection(cache.set("bad", value, 60));
      expect(error).to.be.instanceOf(CacheValueError);
      expect(error.code).to.equal("ERR_SVC_CACHE_VALUE");
    }
    expect((await rejection(cache.getOrSet("bad", 60, () => circle))).code).to.equal("ERR_SVC_CACHE_VALUE");
    expect(await rejection(cache.set("", 1, 60))).to.be.instanceOf(ConfigurationError);
    for (const ttl of [0, -1, NaN, Infinity]) {
      expect(await rejection(cache.set("key", 1, ttl))).to.be.instanceOf(ConfigurationError);
    }
    // JavaScript callers may pass any value as `fill`. It is checked even when the key has a value and `fill` is not
    // needed.
    await cache.set("key", 1, 60);
    const fill: unknown = "a value";
    const error = await rejection(cache.getOrSet("key", 60, fill as () => unknown));
    expect(error).to.be.instanceOf(ConfigurationError);
    expect(error.message).to.contain("fill: must be a function");
  });

  it("distinguishes keys that differ only in the last of 5,001 characters", async () => {
    const [a, b] = [`${"k".repeat(5000)}a`, `${"k".repeat(5000)}b`];
    await cache.set(a, "a", 60);
    await cache.set(b, "b", 60);
    expect([await cache.get(a), await cache.get(b)]).to.deep.equal(["a", "b"]);
    await cache.delete(a);
    expect(await cache.get(a)).to.equal(undefined);
  });

  it("distinguishes keys that differ only in an unpaired surrogate", async () => {
    const [a, b] = ["half\ud800", "half\ud801"];
    await cache.set(a, "a", 60);
    await cache.set(b, "b", 60);
    expect([await cache.get(a), await cache.get(b)]).to.deep.equal(["a", "b"]);
  });

  it("still returns and stores values when onEvent throws or rejects, and logs the error once", async () => {
    const broken = (): never => {
      throw new Error("cannot count");
    };
    for (const each of [broken, async () => broken()]) {
      const logger = collectingLogger();
      await using other = open({ onEvent: (): void => each() as never, logger });
      expect(await other.getOrSet("counted", 60, () => 1)).to.equal(1);
      expect(await other.get("counted")).to.equal(1);
      expect(logger.at("warn")).to.deep.equal(["a cache event listener threw an error"]);
    }
  });
});

describe("cache.redis", () => {
  const redis = testRedis();
  let cache: Cache;
  let prefix: string;
  before(() => {
    prefix = `${redis.keyPrefix}redis:`;
    cache = createCache({ url: redis.url, keyPrefix: prefix, ...PATIENT });
  });
  after(() => cache.stop());

  it("prefixes keys in scripts and commands, and rejects commands that are not allowed on a shared connection", async () => {
    expect(await cache.redis.eval("return {KEYS[1], ARGV[1]}", 1, "k", "v")).to.deep.equal([
      `${prefix}k`,
      "v",
    ]);
    expect(await cache.redis.call("INCR", "count")).to.equal(1);
    expect(await cache.redis.mget("count", "nothing")).to.deep.equal(["1", null]);
    expect(cache.redis.isCluster).to.equal(false);
    for (const command of ["multi", "subscribe", "SELECT", "blpop", "client"]) {
      const error = await rejection(cache.redis.call(command, "x"));
      expect(error, command).to.include({ code: "ERR_SVC_CACHE_COMMAND" });
    }
    const reading = ["COUNT", 1, "BLOCK", 0, "STREAMS", "stream", "$"];
    expect(await rejection(cache.redis.call("xread", ...reading))).to.include({ reply: "ERR" });
    expect(await cache.redis.call("xread", "STREAMS", "block", "0")).to.equal(null);
    const unknown = await rejection(cache.redis.call("nonsense", "secret-argument"));
    expect(`${unknown.message} ${JSON.stringify(unknown)}`).not.to.contain("secret-argument");
  });

  it("keeps the order of commands sent in one event-loop turn, with strings and bytes", async () => {
    const bytes = Buffer.from([0, 255, 13, 10, 128]);
    const answers = await Promise.all([
      cache.redis.call("set", "order", "1"),
      cache.redis.call("append", "order", Buffer.from("2")),
      cache.redis.call("append", "order", "3\r\nü"),
      cache.redis.call("get", "order"),
      cache.redis.call("set", "bytes", bytes),
      cache.redis.call("strlen", "bytes"),
      cache.redis.call("append", "order", "4"),
    ]);
    expect(answers).to.deep.equal(["OK", 2, 7, "123\r\nü", "OK", bytes.length, 8]);
    expect(await cache.redis.call("get", "order")).to.equal("123\r\nü4");
  });
});

describe("createCache with a dedicated Redis", function () {
  this.timeout(30_000);
  testProgram("redis");
  let server: RedisServer;
  before(async () => void (server = await startRedis()));
  after(() => server.stop());

  it("limits a command to 1 s by default (REV-7)", async () => {
    await using cache = createCache({ url: server.url });
    expect(cache.redis.commandTimeoutMs).to.equal(1000);
  });

  it("sends the commands of one event-loop turn in few packets (REV-7)", async () => {
    await using cache = createCache({ url: server.url, ...PATIENT });
    // The counter includes the reads of every client, so no other client may use this Redis.
    const reads = async (): Promise<number> => {
      const stats = String(await cache.redis.call("info", "stats"));
      return Number(/total_reads_processed:(\d+)/.exec(stats)?.[1]);
    };
    const before = await reads();
    await Promise.all(Array.from({ length: 200 }, (_, index) => cache.redis.exists(`key-${index}`)));
    expect((await reads()) - before).to.be.below(20);
  });
});

describe("readiness of the cache", function () {
  this.timeout(30_000);
  testProgram("redis");
  let server: RedisServer;
  before(async () => void (server = await startRedis()));
  after(() => server.stop());

  it("is healthy and not critical, and reports an eviction policy that may drop entries (RDY-16)", async () => {
    const logger = collectingLogger();
    await using cache = createCache({ url: server.url, logger, name: "sessions", ...PATIENT });
    expect(cache.readiness()).to.include({ name: "sessions", critical: false });
    expect(await ready(cache)).to.deep.equal({
      healthy: true,
      detail: "connected",
      meta: { breaker: "closed", in_flight: 0, eviction: "noeviction" },
    });
    await cache.redis.call("config", "set", "maxmemory-policy", "allkeys-lru");
    await until(
      "the note",
      async () => (await ready(cache)).detail === "connected; may drop entries (allkeys-lru)",
    );
    expect((await ready(cache)).healthy).to.equal(true);
    await cache.redis.call("config", "set", "maxmemory-policy", "noeviction");
    await until("no note", async () => (await ready(cache)).detail === "connected");
    expect(logger.texts).to.deep.equal([
      'warn Redis may evict entries before they expire: set maxmemory-policy to noeviction {"cache":"sessions","policy":"allkeys-lru"}',
    ]);
  });

  it("queries CONFIG if INFO is not permitted, and is healthy if neither is permitted (RDY-16)", async () => {
    await using admin = createCache({ url: server.url, ...PATIENT });
    for (const [user, rights] of [
      ["noinfo", ["+@all", "-info"]],
      ["neither", ["+@all", "-info", "-config"]],
    ] as const) {
      await admin.redis.call("acl", "setuser", user, "on", ">pw", "~*", "&*", ...rights);
      await using cache = createCache({ url: `redis://${user}:pw@127.0.0.1:${server.port}`, ...PATIENT });
      const { healthy, detail, meta } = await ready(cache);
      expect({ healthy, detail }, user).to.deep.equal({ healthy: true, detail: "connected" });
      expect(meta?.["eviction"]).to.equal(user === "noinfo" ? "noeviction" : "unknown");
    }
  });
});
