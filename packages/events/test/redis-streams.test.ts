import type { BusMessage, EventBus } from "@svc/events";
import { createRedisStreamsBus, EventBusError, type RedisStreamsOptions } from "@svc/events/redis-streams";
import { collectingLogger, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { Redis } from "ioredis";
import { setTimeout as sleep } from "node:timers/promises";
import { idsOf, messages, topicName } from "./support/messages.ts";
import { brokerRedis } from "./support/servers.ts";

describe("the bus on Redis Streams", function () {
  this.timeout(60_000);
  const redis = brokerRedis();
  let raw: Redis;
  const open: EventBus[] = [];

  before(() => {
    raw = new Redis(redis.server.url, { protocol: 2 });
    raw.on("error", () => undefined);
  });

  after(() => raw.disconnect());

  afterEach(async () => {
    await Promise.all(open.splice(0).map((bus) => bus.close()));
  });

  function busWith(options: Partial<RedisStreamsOptions> = {}): EventBus {
    const bus = createRedisStreamsBus({
      redis: redis.server.url,
      minIdleMs: 300,
      retryBaseMs: 10,
      timeoutMs: 2000,
      ...options,
    });
    open.push(bus);
    return bus;
  }

  async function collect(bus: EventBus, group: string, topic: string): Promise<string[]> {
    const ids: string[] = [];
    await bus.consume({
      group,
      topics: [topic],
      handler: async ({ id }) => Promise.resolve(void ids.push(id)),
    });
    return ids;
  }

  describe("trimming", () => {
    it("EVT-7 removes what every group has acknowledged, and nothing that one has yet to read or finish", async () => {
      const bus = busWith({ trimEverySeconds: 0.05 });
      const topic = topicName("trimmed");
      const list = messages(topic, 20);
      await raw.xgroup("CREATE", topic, "slow", "0", "MKSTREAM");
      await bus.publish(list);
      const fast = await collect(bus, "fast", topic);
      await until("the fast group is done", () => fast.length === list.length);
      await sleep(120);
      expect(await raw.xlen(topic), "the slow group has read nothing").to.equal(20);

      const answer = await raw.call(
        "XREADGROUP",
        "GROUP",
        "slow",
        "by hand",
        "COUNT",
        "10",
        "STREAMS",
        topic,
        ">",
      );
      const read = (answer as [string, [string, string[]][]][])[0]?.[1].map(([id]) => id) ?? [];
      await raw.xack(topic, "slow", ...read.slice(0, 4), ...read.slice(5));
      await until("what both are done with is gone", async () => (await raw.xlen(topic)) < 20);
      await sleep(100);
      const kept = (await raw.xrange(topic, "-", "+")).map(([, fields]) => fields[1]);
      expect(kept, "from the one that is not acknowledged").to.deep.equal(idsOf(list).slice(4));

      await raw.xack(topic, "slow", ...read);
      await raw.call("XREADGROUP", "GROUP", "slow", "by hand", "NOACK", "STREAMS", topic, ">");
      await until("all but the last one are gone", async () => (await raw.xlen(topic)) === 1);
    });

    it("EVT-7 bounds a stream without groups only when it is told to", async () => {
      const [kept, bounded] = [topicName("kept"), topicName("bounded")];
      await busWith().publish(messages(kept, 700));
      const bus = busWith({ maxLengthWithoutGroups: 100 });
      await bus.publish(messages(bounded, 700));
      expect(await raw.xlen(kept)).to.equal(700);
      expect(await raw.xlen(bounded)).to.be.within(100, 300);
      await collect(bus, "readers", bounded);
      await bus.publish(messages(bounded, 700));
      expect(await raw.xlen(bounded), "a stream with a group is trimmed by what it has read").to.be.at.least(
        800,
      );
    });
  });

  describe("consumers", () => {
    it("EVT-7 takes over what a consumer that is gone had, with its count, and removes that consumer", async () => {
      const topic = topicName("gone");
      const bus = busWith({ minIdleMs: 100, trimEverySeconds: 0.05 });
      const list = messages(topic, 3);
      await bus.publish(list);
      await raw.xgroup("CREATE", topic, "readers", "0");
      await raw.call("XREADGROUP", "GROUP", "readers", "the dead", "COUNT", "2", "STREAMS", topic, ">");
      const got = new Map<string, number>();
      await bus.consume({
        group: "readers",
        topics: [topic],
        handler: async ({ id }, { deliveries }) => Promise.resolve(void got.set(id, deliveries)),
      });
      await until("all have come", () => got.size === 3);
      expect(list.map(({ id }) => got.get(id))).to.deep.equal([2, 2, 1]);
      await until("only the living is left", async () => {
        const consumers = (await raw.call("XINFO", "CONSUMERS", topic, "readers")) as unknown[];
        return consumers.length === 1;
      });
      const [pending] = (await raw.xpending(topic, "readers")) as [number];
      expect(pending).to.equal(0);
    });

    it("EVT-7 leaves a message with its consumer however long the handler takes", async () => {
      const topic = topicName("long");
      const [one, two] = [busWith(), busWith()];
      const [message] = messages(topic, 1) as [BusMessage];
      const gate = Promise.withResolvers<void>();
      let begun = 0;
      const handler = async (): Promise<void> => {
        begun++;
        await gate.promise;
      };
      await one.consume({ group: "readers", topics: [topic], handler });
      await two.consume({ group: "readers", topics: [topic], handler });
      await one.publish([message]);
      await until("it has begun", () => begun > 0);
      await sleep(500);
      expect(begun).to.equal(1);
      gate.resolve();
      await until(
        "it is acknowledged",
        async () => ((await raw.xpending(topic, "readers")) as [number])[0] === 0,
      );
      expect(begun).to.equal(1);
    });

    it("EVT-7 does not begin what another consumer has taken over in the meantime", async () => {
      const topic = topicName("taken");
      const bus = busWith({ minIdleMs: 900 });
      const list = messages(topic, 3);
      const gate = Promise.withResolvers<void>();
      const begun: string[] = [];
      await bus.consume({
        group: "readers",
        topics: [topic],
        async handler({ id }) {
          begun.push(id);
          await gate.promise;
        },
      });
      await bus.publish(list);
      await until("the first one has begun", () => begun.length === 1);
      const entries = await raw.xrange(topic, "-", "+");
      await raw.xclaim(topic, "readers", "another", 0, entries[1]?.[0] ?? "");
      await until("it is known", async () => {
        const { meta } = await bus.readiness().check(AbortSignal.timeout(5000));
        return meta?.in_hand === 2;
      });
      gate.resolve();
      const left = async (): Promise<number> => ((await raw.xpending(topic, "readers")) as [number])[0];
      await until("the others are done", async () => (await left()) <= 1);
      expect(begun.slice(0, 2)).to.deep.equal([list[0]?.id, list[2]?.id]);
    });

    it("EVT-7 gives back at a stop what was not begun, as if it had not been delivered, and goes", async () => {
      const topic = topicName("back");
      const bus = busWith({ minIdleMs: 60_000 });
      const list = messages(topic, 4, { key: "same" });
      const gate = Promise.withResolvers<void>();
      let begun = 0;
      const consumption = await bus.consume({
        group: "readers",
        topics: [topic],
        async handler() {
          begun++;
          await gate.promise;
        },
      });
      await bus.publish(list);
      await until("one has begun", () => begun === 1);
      const stopping = consumption.stop();
      gate.resolve();
      await stopping;
      const got: [string, number][] = [];
      await busWith({ minIdleMs: 60_000 }).consume({
        group: "readers",
        topics: [topic],
        handler: async ({ id }, { deliveries }) => Promise.resolve(void got.push([id, deliveries])),
      });
      await until(
        "the others have come, long before anybody takes them for left alone",
        () => got.length === 3,
      );
      expect(got).to.deep.equal(list.slice(1).map(({ id }) => [id, 1]));
      await consumption.stop();
    });

    it("EVT-7 gives up on handlers that do not end when it is stopped, and has their messages delivered again", async () => {
      const topic = topicName("endless");
      const logger = collectingLogger();
      const bus = busWith({ stopTimeoutMs: 20, logger });
      const [message] = messages(topic, 1) as [BusMessage];
      const never = Promise.withResolvers<void>();
      let begun = false;
      const consumption = await bus.consume({
        group: "readers",
        topics: [topic],
        handler() {
          begun = true;
          return never.promise;
        },
      });
      await bus.publish([message]);
      await until("it has begun", () => begun);
      await consumption.stop();
      expect(logger.at("warn")).to.deep.equal(["handlers still run; their messages are given back"]);
      const again = await collect(busWith(), "readers", topic);
      await until("it has come again", () => again.includes(message.id));
      never.resolve();
    });

    it("EVT-7 begins with what comes when it is told to, and leaves out what nobody of ours has written", async () => {
      const topic = topicName("newest");
      const logger = collectingLogger();
      const bus = busWith({ startFrom: "newest", logger });
      await bus.publish(messages(topic, 2));
      const got = await collect(bus, "readers", topic);
      await raw.xadd(topic, "*", "something", "else");
      const [message] = messages(topic, 1) as [BusMessage];
      await bus.publish([message]);
      await until("the new one has come", () => got.length > 0);
      expect(got).to.deep.equal([message.id]);
      expect(logger.at("error")).to.deep.equal([
        "an entry is no message that was published here; it is left out",
      ]);
      await until(
        "it is acknowledged",
        async () => ((await raw.xpending(topic, "readers")) as [number])[0] === 0,
      );
    });
  });

  describe("publishing", () => {
    it("EVT-7 drops a second message with the same id inside the window, and only there", async () => {
      const topic = topicName("window");
      const list = messages(topic, 1);
      await busWith({ dedupSeconds: 0.15 }).publish(list);
      await busWith({ dedupSeconds: 0.15 }).publish([...list, ...list]);
      expect(await raw.xlen(topic)).to.equal(1);
      await sleep(170);
      await busWith({ dedupSeconds: 0.15 }).publish(list);
      expect(await raw.xlen(topic)).to.equal(2);
      await until("ids are forgotten", async () => (await raw.exists(`${topic}:ids`)) === 0);
      await busWith({ dedupSeconds: 0 }).publish([...list, ...list]);
      expect(await raw.xlen(topic)).to.equal(4);
      expect(await raw.exists(`${topic}:ids`)).to.equal(0);
    });

    it("EVT-7 keeps the order of more messages than fit into one command", async () => {
      const topic = topicName("many");
      const list = messages(topic, 1300, { key: "k", body: "x".repeat(2000) });
      await busWith().publish(list);
      const kept = (await raw.xrange(topic, "-", "+")).map(([, fields]) => fields[1]);
      expect(kept).to.deep.equal(idsOf(list));
    });

    it("EVT-7 writes id, key and body, under prefix and topic, with the settings of a client it leaves alone", async () => {
      const client = new Redis(redis.server.url, { keyPrefix: "app:", lazyConnect: true });
      const bus = busWith({ redis: client, prefix: "events:" });
      const topic = topicName("fields");
      const [one, two] = messages(topic, 2) as [BusMessage, BusMessage];
      await bus.publish([one, { ...two, key: "k" }]);
      const entries = (await raw.xrange(`app:events:${topic}`, "-", "+")).map(([, fields]) => fields);
      expect(entries).to.deep.equal([
        ["id", one.id, "body", one.body],
        ["id", two.id, "key", "k", "body", two.body],
      ]);
      const got = await collect(bus, "readers", topic);
      await until("both have come", () => got.length === 2);
      await bus.close();
      expect(client.status).to.equal("wait");
    });

    it("EVT-7 refuses what no broker could take before it sends anything", async () => {
      const bus = busWith({ maxBodyBytes: 10 });
      const topic = topicName("refused");
      const [good] = messages(topic, 1, { body: "{}" }) as [BusMessage];
      const wrong: [Partial<BusMessage>, RegExp][] = [
        [{ topic: "two words" }, /its topic must be letters, digits, _ and - in words .*"two words"/],
        [{ topic: "a..b" }, /its topic/],
        [{ topic: "" }, /its topic/],
        [{ topic: "x".repeat(301) }, /at most 300 characters/],
        [{ id: "" }, /its id/],
        [{ id: "a\r\nb" }, /its id/],
        [{ key: "\uD800" }, /its key/],
        [{ body: "\uD800" }, /surrogate/],
        [{ body: "12345678901" }, /11 bytes; at most 10/],
      ];
      for (const [change, text] of wrong) {
        const error = await rejection(bus.publish([good, { ...good, ...change }]));
        expect(error).to.be.instanceOf(EventBusError);
        expect(error.message).to.match(text);
        expect({ code: error.code, permanent: error.permanent }).to.deep.equal({
          code: "ERR_SVC_EVENT_BUS_MESSAGE",
          permanent: true,
        });
      }
      expect(await raw.exists(topic)).to.equal(0);
    });

    it("EVT-7 names a key that is no stream", async () => {
      const topic = topicName("string");
      await raw.set(topic, "something else");
      const bus = busWith();
      for (const operation of [
        () => bus.publish(messages(topic, 1)),
        () => bus.consume({ group: "g", topics: [topic], handler: () => Promise.resolve() }),
      ]) {
        const error = await rejection(operation);
        expect(error.code).to.equal("ERR_SVC_EVENT_BUS_REFUSED");
        expect(error.message).to.match(/holds something else \(WRONGTYPE\)/);
      }
    });
  });

  describe("faults", () => {
    it("EVT-7 ends publishing in time while Redis hangs, says so, and goes on when it answers again", async () => {
      const topic = topicName("hung");
      const bus = busWith({ timeoutMs: 150 });
      const got = await collect(bus, "readers", topic);
      const readiness = bus.readiness();
      const list = messages(topic, 2);
      await bus.publish(list.slice(0, 1));
      redis.server.pause();
      try {
        const error = await rejection(bus.publish(list.slice(1)));
        expect(error.code).to.equal("ERR_SVC_EVENT_BUS_UNAVAILABLE");
        expect(error.message).to.equal("Redis is not available: no answer within 150 ms");
        expect(error.permanent).to.equal(false);
        const result = await readiness.check(AbortSignal.timeout(5000));
        expect(result.healthy).to.equal(false);
      } finally {
        redis.server.resume();
      }
      await until("it takes messages again", async () => {
        try {
          await bus.publish(list);
          return true;
        } catch {
          return false;
        }
      });
      await until("both have come", () => new Set(got).size === 2);
      expect(got, "each once, although it was published twice").to.have.length(2);
    });

    it("EVT-7 fails at once while nothing listens, and shows no password anywhere", async () => {
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

    it("EVT-7 refuses to work without the right password or in a database that is not there", async () => {
      const topic = topicName("login");
      const lost = await rejection(
        busWith({ redis: `${redis.server.url}/9999` }).publish(messages(topic, 1)),
      );
      expect(lost.code).to.equal("ERR_SVC_EVENT_BUS_UNAVAILABLE");
      expect(lost.message).to.match(/no such database/);
      await raw.config("SET", "requirepass", "right");
      try {
        const { host } = new URL(redis.server.url);
        for (const url of [redis.server.url, `redis://:wrong@${host}`]) {
          const error = await rejection(busWith({ redis: url }).publish(messages(topic, 1)));
          expect(error.code).to.equal("ERR_SVC_EVENT_BUS_REFUSED");
          expect(error.message).to.match(/NOAUTH|WRONGPASS/);
        }
        await busWith({ redis: `redis://:right@${host}` }).publish(messages(topic, 1));
      } finally {
        await raw.config("SET", "requirepass", "");
      }
      expect(await raw.xlen(topic)).to.equal(1);
    });

    it("EVT-7 says in the log that Redis has gone and that it has come back, and reads on", async () => {
      const topic = topicName("away");
      const logger = collectingLogger();
      const bus = busWith({ logger });
      const got = await collect(bus, "readers", topic);
      await redis.server.kill();
      await until("it is said", () => logger.at("warn").length > 0);
      expect(logger.texts[0]).to.match(/^warn cannot read from the event bus; trying on .*"group":"readers"/);
      await redis.server.restart();
      await until("it is said, too", () => logger.at("info").length > 0);
      expect(logger.at("info")).to.deep.equal(["reading from the event bus again"]);
      const list = messages(topic, 1);
      await until("it takes messages", () =>
        bus.publish(list).then(
          () => true,
          () => false,
        ),
      );
      await until("it has come", () => got.length === 1);
    });

    it("EVT-7 ends at once what is under way when it is closed", async () => {
      const bus = busWith();
      const topic = topicName("closing");
      await collect(bus, "readers", topic);
      await bus.close();
      const error = await rejection(bus.publish(messages(topic, 1)));
      expect(error.code).to.equal("ERR_SVC_EVENT_BUS_CLOSED");
    });
  });

  it("EVT-7 names options that are wrong, and never their secrets", async () => {
    const wrong: [object, RegExp][] = [
      [{}, /redis: is required/],
      [{ redis: "http://user:pass-word@host" }, /redis: must be a URL that begins with redis:/],
      [{ redis: "redis://us%er:pass-word@host" }, /redis: must be a URL/],
      [{ redis: new Redis.Cluster([], { lazyConnect: true }) }, /not a Cluster/],
      [{ redis: redis.server.url, minIdle: 3 }, /minIdle: is unknown; did you mean minIdleMs\?/],
      [{ redis: redis.server.url, retryBaseMs: 100, retryMaxMs: 50 }, /retryMaxMs: must not be less/],
      [{ redis: redis.server.url, prefix: "a b" }, /prefix: must be at most 64/],
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
      [{ group: "a", topics: [">"], handler }, /topics: must be letters/],
      [{ group: "a", topics: ["x"], handler, concurrency: 0 }, /concurrency: must be a whole number/],
    ] as const) {
      const error = await rejection(busWith().consume(options));
      expect(error.message).to.match(text);
      expect(error.code).to.equal("ERR_SVC_CONFIGURATION");
    }
  });
});
