import { type Cache, createCache, type RedisClient } from "@svc/cache";
import { testRedis } from "@svc/dev-services";
import { expect } from "chai";
import { Redis } from "ioredis";
import { PATIENT } from "./support/warm-cache.ts";

describe("getOrSet with a concurrent set or delete of its key", function () {
  this.timeout(60_000);
  const server = testRedis();
  let redis: Redis;
  before(() => void (redis = new Redis(server.url)));
  after(() => redis.disconnect());

  /** Returns a client that delays the command which stores `text`, as a redirection in a cluster may. */
  function delaying(text: string) {
    const sent = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const client: RedisClient = {
      get status() {
        return redis.status;
      },
      async call(command, ...args) {
        if (command === "set" && args[1] === text) {
          sent.resolve();
          await released.promise;
        }
        return redis.call(command, ...args);
      },
      on: (event, listener) => redis.on(event, listener),
      off: (event, listener) => redis.off(event, listener),
      connect: () => redis.connect(),
      disconnect: () => undefined,
    };
    return { client, sent: sent.promise, release: released.resolve };
  }

  for (const [what, changes, expected] of [
    ["set", [(cache: Cache) => cache.set("raced", "new", 60)], "new"],
    ["set to the same value", [(cache: Cache) => cache.set("raced", "old", 60)], "old"],
    ["deleted", [(cache: Cache) => cache.delete("raced")], undefined],
    [
      "deleted and then set twice",
      [
        (cache: Cache) => cache.delete("raced"),
        (cache: Cache) => cache.set("raced", "newer", 60),
        (cache: Cache) => cache.set("raced", "newest", 60),
      ],
      "newest",
    ],
  ] as const) {
    it(`keeps the last change when the key is ${what} while the result of the fill is being stored`, async () => {
      const { client, sent, release } = delaying('"old"');
      const keyPrefix = `${server.keyPrefix}race:${what.replaceAll(" ", "-")}:`;
      await using cache = createCache({ client, keyPrefix, ...PATIENT });
      const filled = cache.getOrSet("raced", 60, () => "old");
      await sent;
      const changed = Promise.all(changes.map((change) => change(cache)));
      // The changes have been called, so their commands would be sent before the delayed command if they did not wait.
      for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
      release();
      await changed;
      expect(await cache.get("raced")).to.equal(expected);
      expect(await filled).to.equal("old");
      expect(await cache.get("raced")).to.equal(expected);
    });
  }
});

describe("getOrSet with more fills than it tracks", function () {
  this.timeout(60_000);
  const server = testRedis();

  it("returns the results of further fills without storing them, so that none of them undoes a delete", async () => {
    const keyPrefix = `${server.keyPrefix}crowd:`;
    await using cache = createCache({ url: server.url, keyPrefix, ...PATIENT, fillTimeoutMs: 30_000 });
    const crowd = Promise.withResolvers<void>();
    const crowded = Promise.withResolvers<void>();
    let fills = 0;
    const all = Array.from({ length: 10_000 }, (_, index) =>
      cache.getOrSet(`crowd-${index}`, 60, () => {
        fills += 1;
        if (fills === 10_000) crowded.resolve();
        return crowd.promise;
      }),
    );
    await crowded.promise;
    const begun = Promise.withResolvers<void>();
    const late = Promise.withResolvers<string>();
    const filled = cache.getOrSet("late", 60, () => {
      begun.resolve();
      return late.promise;
    });
    await begun.promise;
    await cache.delete("late");
    late.resolve("old");
    expect(await filled).to.equal("old");
    expect(await cache.get("late")).to.equal(undefined);

    crowd.resolve();
    await Promise.all(all);
    expect(await cache.getOrSet("late", 60, () => "new")).to.equal("new");
    expect(await cache.get("late")).to.equal("new");
  });
});
