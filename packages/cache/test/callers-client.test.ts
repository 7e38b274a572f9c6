import { type CacheOptions, createCache } from "@svc/cache";
import { type RedisServer, startRedis, testProgram } from "@svc/dev-services";
import { fromNodeRedis } from "@svc/redis";
import { rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { EventEmitter } from "node:events";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { PATIENT } from "./support/warm-cache.ts";

describe("createCache({ client })", function () {
  this.timeout(60_000);
  testProgram("redis");
  let server: RedisServer;
  const clients: Redis[] = [];
  const clientOf = (): Redis => {
    const client = new Redis(server.url);
    clients.push(client);
    return client;
  };
  before(async () => void (server = await startRedis()));
  afterEach(() => {
    for (const client of clients.splice(0)) client.disconnect();
  });
  after(() => server.stop());

  it("stores values through an ioredis client, is ready, and leaves the client open and without listeners", async () => {
    const client = clientOf();
    const count = (): number[] =>
      ["ready", "error", "close", "end"].map((each) => client.listenerCount(each));
    const before = count();
    const cache = createCache({ client, keyPrefix: "p:", ...PATIENT });
    expect(await cache.getOrSet("answer", 60, () => 42)).to.equal(42);
    expect(await cache.get("answer")).to.equal(42);
    expect(await cache.readiness().check(AbortSignal.timeout(15_000))).to.include({
      healthy: true,
      detail: "connected",
    });
    await cache.stop();
    expect(count()).to.deep.equal(before);
    expect(await rejection(cache.get("answer"))).to.include({
      code: "ERR_SVC_CACHE_UNAVAILABLE",
      reason: "stopped",
    });
    expect(await client.get("p:answer")).to.equal("42");
  });

  it("stores values through a client of node-redis, and leaves it open", async () => {
    const client = createClient({ url: server.url });
    await client.connect();
    try {
      const cache = createCache({ client: fromNodeRedis(client), keyPrefix: "n:", ...PATIENT });
      expect(await cache.getOrSet("answer", 60, () => 42)).to.equal(42);
      expect(await cache.get("answer")).to.equal(42);
      await cache.delete("gone");
      expect(await cache.readiness().check(AbortSignal.timeout(15_000))).to.include({
        healthy: true,
        detail: "connected",
      });
      await cache.stop();
      expect(await client.get("n:answer")).to.equal("42");
    } finally {
      client.destroy();
    }
  });

  it("closes the client on stop() if closeClient is set", async () => {
    const client = clientOf();
    const cache = createCache({ client, closeClient: true, ...PATIENT });
    await cache.set("answer", 42, 60);
    await cache.stop();
    await until("the client is closed", () => client.status === "end");
  });

  it("rejects at the deadline while Redis hangs, then without delay, still fills values, and recovers (REV-7, REV-8)", async () => {
    await using cache = createCache({
      client: clientOf(),
      ...PATIENT,
      commandTimeoutMs: 500,
      breakerCoolDownMs: 100,
    });
    // Repeat: on a slow machine a command may exceed the short deadline.
    await until("it is connected", () => cache.redis.call("ping").catch(() => undefined));
    server.pause();
    try {
      expect(await rejection(cache.get("answer"))).to.include({ reason: "timeout", ambiguous: true });
      expect(await rejection(cache.get("answer"))).to.include({ reason: "breaker", ambiguous: false });
      expect(await cache.getOrSet("filled", 60, () => "value")).to.equal("value");
    } finally {
      server.resume();
    }
    await until("it answers", () => cache.redis.call("ping").catch(() => undefined));
  });

  it("rejects a client of another library, and a client combined with a URL or a cluster", () => {
    const message = (options: object): string => {
      try {
        void createCache(options as CacheOptions).stop();
      } catch (error) {
        return String(error);
      }
      return "";
    };
    // The members of a client of node-redis, which has no call().
    const other = Object.assign(new EventEmitter(), {
      connect: async () => undefined,
      disconnect: async () => undefined,
      sendCommand: async () => "geheim",
      isOpen: true,
    });
    expect(message({ client: other }))
      .to.contain(
        "client: must be an ioredis client (an object with call(), on(), off(), connect(), disconnect())",
      )
      .and.not.contain("geheim");
    const client = Object.assign(new EventEmitter(), {
      call() {},
      connect() {},
      disconnect() {},
      status: "end",
    });
    for (const place of [
      { url: "redis://:geheim@127.0.0.1:1" },
      { cluster: [{ host: "a" }] },
      { connection: { password: "geheim" } },
    ]) {
      expect(message({ client, ...place }))
        .to.contain("client: cannot be combined with url, cluster or connection")
        .and.not.contain("geheim");
    }
  });
});
