import { createRedisStreamsBus, type RedisStreamsOptions } from "@svc/events/redis-streams";
import { collectingLogger, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { Redis } from "ioredis";
import { isTaken, messages, topicName } from "./support/messages.ts";
import { redisBench } from "./support/redis-bench.ts";

describe("the bus on Redis Streams", function () {
  this.timeout(60_000);
  const bench = redisBench();
  const { busWith, collect } = bench;

  describe("during faults", () => {
    it("EVT-7 rejects publish() at the deadline while Redis hangs, is unhealthy, and recovers when Redis responds", async () => {
      const topic = topicName("hung");
      const bus = busWith({ timeoutMs: 150 });
      const got = await until("it consumes", () => collect(bus, "readers", topic).catch(() => undefined));
      const readiness = bus.readiness();
      const list = messages(topic, 2);
      await until("it takes the first one", () => isTaken(bus, list.slice(0, 1)));
      bench.server.pause();
      try {
        const error = await rejection(bus.publish(list.slice(1)));
        expect(error.code).to.equal("ERR_SVC_EVENT_BUS_UNAVAILABLE");
        expect(error.message).to.equal("Redis is not available: no answer within 150 ms");
        expect(error.permanent).to.equal(false);
        const result = await readiness.check(AbortSignal.timeout(5000));
        expect(result.healthy).to.equal(false);
      } finally {
        bench.server.resume();
      }
      await until("it takes messages again", () => isTaken(bus, list));
      await until("both have come", () => new Set(got).size === 2);
      expect(got, "one delivery each, although published twice").to.have.length(2);
    });

    it("EVT-7 rejects calls immediately while no server listens, and shows no password", async () => {
      const logger = collectingLogger();
      const bus = busWith({ redis: "redis://user:pass-word@127.0.0.1:1/0", logger });
      const topic = topicName("down");
      const errors = [
        await rejection(bus.publish(messages(topic, 1))),
        await rejection(bus.consume({ group: "g", topics: [topic], handler: () => Promise.resolve() })),
      ];
      for (const error of errors) {
        expect(error.code).to.equal("ERR_SVC_EVENT_BUS_UNAVAILABLE");
        expect(error.message).to.equal("Redis is not available: ECONNREFUSED");
        expect(error.cause).to.equal(undefined);
      }
      const result = await bus.readiness().check(AbortSignal.timeout(5000));
      expect(result).to.deep.include({ healthy: false, detail: "Redis is not available: ECONNREFUSED" });
      expect(JSON.stringify([result, logger.texts, errors])).not.to.match(/pass-word|127\.0\.0\.1/);
    });

    it("EVT-7 rejects calls with a wrong password or a missing database", async () => {
      const topic = topicName("login");
      const lost = await rejection(
        busWith({ redis: `${bench.server.url}/9999` }).publish(messages(topic, 1)),
      );
      expect(lost.code).to.equal("ERR_SVC_EVENT_BUS_UNAVAILABLE");
      expect(lost.message).to.match(/no such database/);
      await bench.raw.config("SET", "requirepass", "right");
      try {
        const { host } = new URL(bench.server.url);
        for (const url of [bench.server.url, `redis://:wrong@${host}`]) {
          const error = await rejection(busWith({ redis: url }).publish(messages(topic, 1)));
          expect(error.code).to.equal("ERR_SVC_EVENT_BUS_REFUSED");
          expect(error.message).to.match(/NOAUTH|WRONGPASS/);
        }
        await busWith({ redis: `redis://:right@${host}` }).publish(messages(topic, 1));
      } finally {
        await bench.raw.config("SET", "requirepass", "");
      }
      expect(await bench.raw.xlen(topic)).to.equal(1);
    });

    it("EVT-7 logs when the connection to Redis is lost and restored, and continues to read", async () => {
      const topic = topicName("away");
      const logger = collectingLogger();
      const bus = busWith({ logger });
      const got = await collect(bus, "readers", topic);
      await bench.server.kill();
      await until("it is said", () => logger.at("warn").length > 0);
      expect(logger.texts[0]).to.match(/^warn cannot read from the event bus; retrying .*"group":"readers"/);
      await bench.server.restart();
      await until("it is said, too", () => logger.at("info").length > 0);
      expect(logger.at("info")).to.deep.equal(["reading from the event bus again"]);
      const list = messages(topic, 1);
      await until("it takes messages", () => isTaken(bus, list));
      await until("it has come", () => got.length === 1);
    });

    it("EVT-7 can be closed during a blocking read, and rejects calls after close()", async () => {
      const bus = busWith();
      const topic = topicName("closing");
      await collect(bus, "readers", topic);
      await bus.close();
      const error = await rejection(bus.publish(messages(topic, 1)));
      expect(error.code).to.equal("ERR_SVC_EVENT_BUS_CLOSED");
    });
  });

  it("EVT-7 throws for invalid options, and names them without their secrets", async () => {
    const wrong: [object, RegExp][] = [
      [{}, /redis: is required/],
      [{ redis: "http://user:pass-word@host" }, /redis: must be a URL that begins with redis:/],
      [{ redis: "redis://us%er:pass-word@host" }, /redis: must be a URL/],
      [{ redis: new Redis.Cluster([], { lazyConnect: true }) }, /not a Cluster/],
      [{ redis: bench.server.url, minIdle: 3 }, /minIdle: is unknown; did you mean minIdleMs\?/],
      [{ redis: bench.server.url, retryBaseMs: 100, retryMaxMs: 50 }, /retryMaxMs: must not be less/],
      [{ redis: bench.server.url, prefix: "a b" }, /prefix: must be at most 64/],
    ];
    for (const [options, text] of wrong) {
      const error = await rejection(() => createRedisStreamsBus(options as RedisStreamsOptions));
      expect(error.code).to.equal("ERR_SVC_CONFIGURATION");
      expect(error.message)
        .to.match(text)
        .and.not.to.match(/pass-word/);
    }
    const handler = (): Promise<void> => Promise.resolve();
    for (const [options, text] of [
      [{ group: "a b", topics: ["x"], handler }, /group: must be 1 to 100 letters/],
      [{ group: "a", topics: [], handler }, /topics: must be a list of at least one/],
      [{ group: "a", topics: [">"], handler }, /topics: must consist of words of letters/],
      [{ group: "a", topics: ["x"], handler, concurrency: 0 }, /concurrency: must be a whole number/],
    ] as const) {
      const error = await rejection(busWith().consume(options));
      expect(error.message).to.match(text);
      expect(error.code).to.equal("ERR_SVC_CONFIGURATION");
    }
  });
});
