import { collectingLogger, rejection, until } from "@svc/test-support";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Cache, type CacheOptions, CacheUnavailableError, createCache } from "@svc/cache";
import { type RedisServer, startRedis, testProgram } from "@svc/dev-services";
import { expect } from "chai";
import { stallUntilReplied } from "./support/stall.ts";
import { PATIENT, warmCache } from "./support/warm-cache.ts";

// No process listens on this port. A test checks that no message contains its number.
const CLOSED_PORT = 1019;

const ready = (cache: Cache) => cache.readiness().check(AbortSignal.timeout(5000));
const answers = async (cache: Cache): Promise<boolean> =>
  cache.redis.call("ping").then(
    () => true,
    () => false,
  );

describe("createCache when Redis fails", function () {
  this.timeout(60_000);
  testProgram("redis");
  let server: RedisServer;
  const unhandled: unknown[] = [];
  const keep = (reason: unknown): void => void unhandled.push(reason);
  before(async () => {
    process.on("unhandledRejection", keep);
    server = await startRedis();
  });
  after(async () => {
    process.off("unhandledRejection", keep);
    await server.stop();
    expect(unhandled).to.deep.equal([]);
  });
  const open = (options: Partial<CacheOptions> = {}): Cache =>
    createCache({ url: server.url, ...PATIENT, ...options });
  /** Opens a cache with short deadlines, and waits until it is connected. The test then makes Redis hang. */
  const warm = (options: Partial<CacheOptions>): Promise<Cache> => warmCache({ url: server.url, ...options });
  const found = (cache: Cache): Promise<unknown> =>
    until("the value", () => cache.get("kept").catch(() => undefined));
  /** Returns how often Redis has executed a command. */
  const calls = async (cache: Cache, command: string, of = "calls"): Promise<number> => {
    const stats = String(await cache.redis.call("info", "commandstats"));
    return Number(new RegExp(`cmdstat_${command}:.*?\\b${of}=(\\d+)`).exec(stats)?.[1] ?? 0);
  };

  it("delays only the first command while Redis hangs; probes delay no command (REV-7, REV-8)", async () => {
    await using admin = open();
    await using cache = await warm({ commandTimeoutMs: 200, breakerCoolDownMs: 100 });
    const before = [await calls(admin, "exists"), await calls(admin, "ping")];
    const reasons: unknown[] = [];
    let probes = 0;
    server.pause();
    try {
      let last = cache.state;
      while (probes < 4) {
        reasons.push((await rejection(cache.redis.exists("kept"))).reason);
        await sleep(5);
        if (cache.state === "half-open" && last !== "half-open") probes += 1;
        last = cache.state;
      }
    } finally {
      server.resume();
    }
    await until("a probe succeeds", () => cache.state === "closed");
    expect(reasons[0]).to.equal("timeout");
    expect(new Set(reasons.slice(1))).to.deep.equal(new Set(["breaker"]));
    // After the pause Redis executed everything that it had received: one command and the probes.
    expect((await calls(admin, "exists")) - (before[0] ?? 0)).to.equal(1);
    expect((await calls(admin, "ping")) - (before[1] ?? 0)).to.be.at.least(probes);
  });

  it("rejects all waiting commands at the first deadline, then sends one probe per cool-down (REV-8)", async () => {
    let at = 0;
    await using admin = open();
    await using cache = await warm({ now: () => at, commandTimeoutMs: 300 });
    const before = await calls(admin, "ping");
    server.pause();
    try {
      const all = Array.from({ length: 50 }, async () => rejection(cache.redis.exists("kept")));
      await sleep(100);
      all.push(...Array.from({ length: 50 }, async () => rejection(cache.redis.exists("kept"))));
      expect(await Promise.race(all)).to.equal(await all[0]);
      expect(new Set((await Promise.all(all)).map(({ reason }) => reason))).to.deep.equal(
        new Set(["timeout"]),
      );
      expect(cache.state).to.equal("open");
      // The cool-down does not end, because the clock stands still.
      for (let round = 0; round < 100; round++) {
        const error = await rejection(cache.redis.exists("kept"));
        expect(error).to.be.instanceOf(CacheUnavailableError);
        expect(error).to.include({
          code: "ERR_SVC_CACHE_UNAVAILABLE",
          reason: "breaker",
          retryAfterMs: 2000,
        });
      }
      expect(await ready(cache)).to.deep.include({
        healthy: false,
        detail: "not answering (no answer in time)",
      });
      at += 2000;
      const crowd = Array.from({ length: 50 }, async () => rejection(cache.redis.exists("kept")));
      expect(cache.state).to.equal("half-open");
      expect(new Set((await Promise.all(crowd)).map(({ reason }) => reason))).to.deep.equal(
        new Set(["breaker"]),
      );
      expect(cache.state).to.equal("half-open");
      await until("the probe fails", () => cache.state === "open");
      expect((await rejection(cache.redis.exists("kept"))).retryAfterMs).to.equal(2000);
    } finally {
      server.resume();
    }
    let probes = 1;
    await until("a probe succeeds", async () => {
      // On a slow machine, another probe may fail before one succeeds.
      if (cache.state === "open") {
        at += 2000;
        probes += 1;
        await rejection(cache.redis.exists("kept"));
      }
      return cache.state === "closed";
    });
    expect(await found(cache)).to.equal("value");
    expect((await calls(admin, "ping")) - before).to.equal(probes);
  });

  it("recovers through a probe, without a command from a caller (REV-8)", async () => {
    await using cache = await warm({ commandTimeoutMs: 100, breakerCoolDownMs: 100 });
    server.pause();
    try {
      expect(await rejection(cache.redis.exists("kept"))).to.include({ reason: "timeout", ambiguous: true });
      expect(cache.state).to.equal("open");
    } finally {
      server.resume();
    }
    await until("a probe succeeds", () => cache.state === "closed");
    expect(await found(cache)).to.equal("value");
  });

  it("stops calling Redis after three MASTERDOWN replies, until Redis recovers (REV-8)", async () => {
    const reply = async (cache: Cache): Promise<unknown> =>
      (await rejection(cache.redis.exists("kept"))).reply;
    await using admin = open();
    await using cache = open({ breakerCoolDownMs: 100 });
    await cache.set("kept", "value", 60);
    await admin.redis.call("config", "set", "replica-serve-stale-data", "no");
    await admin.redis.call("replicaof", "127.0.0.1", 1);
    try {
      expect([await reply(cache), await reply(cache)]).to.deep.equal(["MASTERDOWN", "MASTERDOWN"]);
      expect(cache.state).to.equal("closed");
      expect(await reply(cache)).to.equal("MASTERDOWN");
      expect(cache.state).to.equal("open");
      await until("two probes have failed", async () => (await calls(admin, "ping", "rejected_calls")) >= 2);
      expect((await rejection(cache.redis.exists("kept"))).reason).to.equal("breaker");
    } finally {
      await admin.redis.call("replicaof", "no", "one");
    }
    await until("a probe succeeds", () => cache.state === "closed");
    expect(await cache.redis.exists("kept")).to.equal(1);
  });

  it("rejects commands immediately while Redis is down, and works again after Redis restarts (REV-8)", async () => {
    const logger = collectingLogger();
    await using cache = open({ logger });
    await cache.set("kept", 1, 60);
    await server.kill();
    await until(
      "it is known",
      async () => (await rejection(cache.redis.exists("kept"))).reason === "disconnected",
    );
    expect(cache.state).to.equal("closed");
    expect(await ready(cache)).to.deep.include({ healthy: false, detail: "not answering (ECONNREFUSED)" });
    await server.restart();
    await until("it answers", () => answers(cache));
    expect(await cache.get("kept")).to.equal(undefined);
    expect(await ready(cache)).to.deep.include({ healthy: true, detail: "connected" });
    // The reason is a connection reset if a command was in flight when Redis was killed.
    const [warning = "", ...others] = logger.texts;
    expect(warning).to.match(
      /^warn Redis is not available .*"reason":"(ECONNREFUSED|ECONNRESET|EPIPE)","suppressed":0}$/,
    );
    expect(others).to.deep.equal(['info Redis answers again {"cache":"cache"}']);
  });

  it("reports that Redis may have executed a command whose connection was lost", async () => {
    await using proxy = await cuttingProxy(server.port);
    await using cache = open({ url: `redis://127.0.0.1:${proxy.port}` });
    await cache.set("cut", 0, 60);
    proxy.cutAnswers();
    const error = await rejection(cache.redis.call("incr", "cut"));
    expect(error).to.include({ reason: "lost", ambiguous: true });
    // The next command waits for the new connection instead of failing.
    expect(await cache.redis.call("get", "cut")).to.equal("1");
    expect(cache.state).to.equal("closed");
  });

  it("keeps reading from a Redis server that is out of memory", async () => {
    const logger = collectingLogger();
    await using cache = open({ logger });
    await cache.redis.call("flushall");
    await cache.set("kept", 1, 60);
    await cache.redis.call("config", "set", "maxmemory", "1mb");
    try {
      for (let round = 0; round < 5; round++) {
        const error = await rejection(cache.set("big", "x".repeat(500_000), 60));
        expect(error).to.include({ reason: "refused", reply: "OOM", ambiguous: false });
      }
      expect(cache.state).to.equal("closed");
      expect(await cache.redis.exists("kept")).to.equal(1);
      expect(await cache.getOrSet("other", 60, () => "filled")).to.equal("filled");
    } finally {
      await cache.redis.call("config", "set", "maxmemory", "0");
    }
    expect(logger.texts).to.deep.equal([
      'warn Redis is not available {"cache":"cache","reason":"OOM","suppressed":0}',
    ]);
  });

  it("reports a replica, which rejects writes, and recovers when the replica is promoted (RDY-16)", async () => {
    await using cache = open();
    await using other = await startRedis();
    await cache.set("kept", 1, 60);
    await cache.redis.call("replicaof", "127.0.0.1", other.port);
    const error = await rejection(cache.set("kept", 2, 60));
    expect(error).to.include({ code: "ERR_SVC_CACHE_UNAVAILABLE", reason: "refused", reply: "READONLY" });
    await until("the role is seen", async () =>
      (await ready(cache)).detail.startsWith("connected to a replica"),
    );
    expect(cache.readiness().critical).to.equal(false);
    await cache.redis.call("replicaof", "no", "one");
    await cache.set("kept", 3, 60);
    expect(await ready(cache)).to.deep.include({ healthy: true });
  });

  it("returns undefined after FLUSHALL, and reports NOSCRIPT after SCRIPT FLUSH", async () => {
    await using cache = open();
    const sha = String(await cache.redis.call("script", "load", "return 1"));
    expect(await cache.redis.evalsha(sha, 0)).to.equal(1);
    await cache.set("kept", 1, 60);
    await cache.redis.call("flushall");
    await cache.redis.call("script", "flush");
    expect(await cache.get("kept")).to.equal(undefined);
    const error = await rejection(cache.redis.evalsha(sha, 0));
    expect(error).to.include({ code: "ERR_SVC_CACHE_COMMAND", reply: "NOSCRIPT" });
  });

  it("waits for a slow Redis without counting a failure", async () => {
    await using cache = open({ breakerFailures: 1 });
    await cache.set("kept", 1, 60);
    for (let round = 0; round < 3; round++) {
      server.pause();
      const found = cache.redis.exists("kept");
      await sleep(150);
      server.resume();
      expect(await found).to.equal(1);
    }
    expect(cache.state).to.equal("closed");
  });

  it("does not count an event-loop stall in this process as a Redis failure", async () => {
    await using cache = await warm({ commandTimeoutMs: 1000, breakerFailures: 1 });
    // Redis is paused until the stall begins, so that its reply arrives during the stall.
    server.pause();
    const asked = cache.redis.exists("kept");
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
    server.resume();
    stallUntilReplied([server], 1200);
    expect(await asked).to.equal(1);
    expect(cache.state).to.equal("closed");
  });

  it("keeps at most maxInFlight commands in flight while Redis hangs", async () => {
    await using cache = await warm({ maxInFlight: 10, commandTimeoutMs: 300 });
    server.pause();
    try {
      const all = await Promise.all(
        Array.from({ length: 1000 }, async () => (await rejection(cache.redis.exists("kept"))).reason),
      );
      expect(all.filter((reason) => reason === "timeout")).to.have.length(10);
      expect(all.filter((reason) => reason === "busy")).to.have.length(990);
    } finally {
      server.resume();
    }
  });

  it("reports an unhealthy check that is not critical, without any part of the URL, if Redis was never reachable (RDY-16)", async () => {
    const logger = collectingLogger();
    await using cache = open({ url: `redis://somebody:geheim@127.0.0.1:${CLOSED_PORT}/3`, logger });
    const error = await rejection(cache.redis.exists("key"));
    expect(error).to.include({ reason: "disconnected" });
    const check = await ready(cache);
    expect(check).to.deep.include({ healthy: false, detail: "not answering (ECONNREFUSED)" });
    expect(cache.readiness().critical).to.equal(false);
    await until("it is in the log", () => logger.texts.length > 0);
    const all = JSON.stringify([check, logger.texts, error, error.message, error.stack]);
    for (const part of ["somebody", "geheim", String(CLOSED_PORT)]) expect(all).not.to.contain(part);
  });

  it("reports WRONGPASS when Redis rejects the password", async () => {
    const logger = collectingLogger();
    await using admin = open();
    await admin.redis.call("config", "set", "requirepass", "richtig");
    try {
      await using cache = open({ url: `redis://:geheim@127.0.0.1:${server.port}`, logger });
      await rejection(cache.redis.exists("key"));
      await until("it is known", async () => (await ready(cache)).detail === "not answering (WRONGPASS)");
      expect(logger.texts.join()).to.contain("WRONGPASS").and.not.contain("geheim");
    } finally {
      await admin.redis.call("config", "set", "requirepass", "");
    }
  });

  it("rejects commands, instead of using another database, when the configured one does not exist (RDY-16)", async () => {
    const logger = collectingLogger();
    await using admin = open();
    await admin.redis.call("flushall");
    await using cache = open({ url: `${server.url}/77777`, logger });
    const fault = { reason: "disconnected", ambiguous: false };
    expect(await rejection(cache.set("key", 1, 60))).to.include(fault);
    await until("it is known", () => logger.texts.length > 0);
    const check = await ready(cache);
    expect(check).to.deep.include({ healthy: false, detail: "not answering (no such database)" });
    expect(await rejection(cache.set("key", 1, 60))).to.include(fault);
    expect(await admin.redis.call("dbsize")).to.equal(0);
    expect(logger.texts.filter((line) => line.startsWith("info"))).to.deep.equal([]);
  });

  it("rejects commands while Redis hangs or is down, and recovers, even when the logger throws", async () => {
    const full = (): never => {
      throw new Error("the disk is full");
    };
    const logger = { debug: full, info: full, warn: full, error: full, fatal: full };
    await using never = open({ url: `redis://127.0.0.1:${CLOSED_PORT}`, logger });
    await using cache = await warm({ logger, commandTimeoutMs: 100, breakerCoolDownMs: 100 });
    server.pause();
    try {
      expect(await rejection(cache.redis.exists("kept"))).to.include({ reason: "timeout" });
    } finally {
      server.resume();
    }
    await until("it answers again", () => answers(cache));
    expect(await rejection(never.redis.exists("kept"))).to.include({ reason: "disconnected" });
  });

  it("warns at most every 10 s", async () => {
    let at = 0;
    const logger = collectingLogger();
    await using cache = await warm({ logger, now: () => at, commandTimeoutMs: 100 });
    const before = logger.texts.length;
    server.pause();
    try {
      for (let window = 0; window < 6; window++) {
        await rejection(cache.redis.exists("kept"));
        await until("the probe fails", () => cache.state === "open");
        at += 2000;
      }
      const warnings = logger.texts
        .slice(before)
        .filter((line) => line.startsWith("warn Redis is not available"));
      expect(warnings).to.have.length(2);
    } finally {
      server.resume();
    }
  });

  it("waits in stop() for commands in flight; afterwards rejects commands, but getOrSet() still calls fill", async () => {
    const cache = open();
    await cache.set("kept", 1, 60);
    const last = cache.redis.exists("kept");
    const stopped = cache.stop();
    expect(await last).to.equal(1);
    await Promise.all([stopped, cache.stop()]);
    expect((await rejection(cache.redis.exists("kept"))).reason).to.equal("stopped");
    expect(await cache.getOrSet("kept", 60, () => 2)).to.equal(2);
    expect(await ready(cache)).to.deep.include({ healthy: false, detail: "stopped" });
  });

  it("stops at the command deadline while Redis hangs", async () => {
    const cache = await warm({ commandTimeoutMs: 200 });
    server.pause();
    try {
      const last = rejection(cache.redis.exists("kept"));
      await cache.stop();
      expect((await last).reason).to.equal("timeout");
    } finally {
      server.resume();
    }
  });

  it("stops without waiting for a running probe", async () => {
    const cache = await warm({ commandTimeoutMs: 200, breakerCoolDownMs: 100 });
    server.pause();
    try {
      await rejection(cache.redis.exists("kept"));
      await until("a probe is under way", () => cache.state === "half-open");
      await cache.stop();
      expect(cache.state).to.equal("half-open");
      expect((await rejection(cache.redis.exists("kept"))).reason).to.equal("stopped");
    } finally {
      server.resume();
    }
  });
});

/** A proxy that can cut a connection when the server replies, after the server has executed the command. */
async function cuttingProxy(
  target: number,
): Promise<AsyncDisposable & { readonly port: number; cutAnswers(): void }> {
  const sockets = new Set<Socket>();
  let cutting = false;
  const proxy = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on("data", (data) => upstream.write(data));
    upstream.on("data", (data) => {
      if (!cutting) return void client.write(data);
      cutting = false;
      client.destroy();
    });
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    port: (proxy.address() as AddressInfo).port,
    cutAnswers: () => void (cutting = true),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
