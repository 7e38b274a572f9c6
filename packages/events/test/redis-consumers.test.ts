import type { BusMessage } from "@svc/events";
import { collectingLogger, until } from "@svc/test-support";
import { expect } from "chai";
import { setTimeout as sleep } from "node:timers/promises";
import { idsOf, messages, topicName } from "./support/messages.ts";
import { redisBench } from "./support/redis-bench.ts";

describe("the bus on Redis Streams", function () {
  this.timeout(60_000);
  const bench = redisBench();
  const { busWith, collect } = bench;

  describe("when it trims streams", () => {
    it("EVT-7 removes entries only after every group has acknowledged them", async () => {
      const bus = busWith({ trimEverySeconds: 0.05 });
      const topic = topicName("trimmed");
      const list = messages(topic, 20);
      await bench.raw.xgroup("CREATE", topic, "slow", "0", "MKSTREAM");
      await bus.publish(list);
      const fast = await collect(bus, "fast", topic);
      await until("the fast group is done", () => fast.length === list.length);
      await sleep(120);
      expect(await bench.raw.xlen(topic), "the slow group has read nothing").to.equal(20);

      const answer = await bench.raw.call(
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
      await bench.raw.xack(topic, "slow", ...read.slice(0, 4), ...read.slice(5));
      await until(
        "the entries that both acknowledged are removed",
        async () => (await bench.raw.xlen(topic)) < 20,
      );
      await sleep(100);
      const kept = (await bench.raw.xrange(topic, "-", "+")).map(([, fields]) => fields[1]);
      expect(kept, "all from the first unacknowledged one").to.deep.equal(idsOf(list).slice(4));

      await bench.raw.xack(topic, "slow", ...read);
      await bench.raw.call("XREADGROUP", "GROUP", "slow", "by hand", "NOACK", "STREAMS", topic, ">");
      await until("all but the last one are removed", async () => (await bench.raw.xlen(topic)) === 1);
    });

    it("EVT-7 limits the length of a stream without groups only if maxLengthWithoutGroups is set", async () => {
      const [kept, bounded] = [topicName("kept"), topicName("bounded")];
      await busWith().publish(messages(kept, 700));
      const bus = busWith({ maxLengthWithoutGroups: 100 });
      await bus.publish(messages(bounded, 700));
      expect(await bench.raw.xlen(kept)).to.equal(700);
      expect(await bench.raw.xlen(bounded)).to.be.within(100, 300);
      await collect(bus, "readers", bounded);
      await bus.publish(messages(bounded, 700));
      expect(
        await bench.raw.xlen(bounded),
        "a stream with a group is trimmed by what it has read",
      ).to.be.at.least(800);
    });
  });

  describe("when it consumes", () => {
    it("EVT-7 takes over a dead consumer's messages with their delivery count, and removes that consumer", async () => {
      const topic = topicName("gone");
      const bus = busWith({ minIdleMs: 100, trimEverySeconds: 0.05 });
      const list = messages(topic, 3);
      await bus.publish(list);
      await bench.raw.xgroup("CREATE", topic, "readers", "0");
      await bench.raw.call("XREADGROUP", "GROUP", "readers", "the dead", "COUNT", "2", "STREAMS", topic, ">");
      const got = new Map<string, number>();
      await bus.consume({
        group: "readers",
        topics: [topic],
        handler: async ({ id }, { deliveries }) => Promise.resolve(void got.set(id, deliveries)),
      });
      await until("all are delivered", () => got.size === 3);
      expect(list.map(({ id }) => got.get(id))).to.deep.equal([2, 2, 1]);
      const consumers = async (): Promise<number> =>
        ((await bench.raw.call("XINFO", "CONSUMERS", topic, "readers")) as unknown[]).length;
      await until("the dead consumer is removed", async () => (await consumers()) === 1);
      // After the server was paused for longer than the idle time, the consumer must not remove itself.
      for (let times = 0; times < 3; times++) {
        bench.server.pause();
        await sleep(500);
        bench.server.resume();
        await sleep(100);
        expect(await consumers()).to.equal(1);
      }
      const [pending] = (await bench.raw.xpending(topic, "readers")) as [number];
      expect(pending).to.equal(0);
    });

    it("EVT-7 renews its claim to a message within every minIdleMs while the handler runs", async () => {
      const topic = topicName("long");
      // With prefetch 1 the consumer has no room to reclaim messages, which would also renew the claim.
      const bus = busWith({ minIdleMs: 600, prefetch: 1 });
      const gate = Promise.withResolvers<void>();
      // A failed assertion must not leave the handler running: the bus would wait for it.
      using _open = { [Symbol.dispose]: gate.resolve };
      let begun = 0;
      const handler = async (): Promise<void> => {
        begun++;
        await gate.promise;
      };
      await bus.consume({ group: "readers", topics: [topic], handler });
      await bus.publish(messages(topic, 1));
      await until("the handler runs", () => begun > 0);
      const claim = async (): Promise<readonly [entry: string, consumer: string, idleMs: number]> => {
        const [pending] = (await bench.raw.xpending(topic, "readers", "-", "+", 1)) as [
          string,
          string,
          number,
        ][];
        return pending ?? ["", "", 0];
      };
      // Count queries, not elapsed time, because a stall of this process delays this timer and the consumer's alike.
      let looks = 0;
      for (let renewals = 0; renewals < 5; renewals++) {
        const [entry, consumer] = await claim();
        await bench.raw.xclaim(topic, "readers", consumer, 0, entry, "IDLE", 50_000, "JUSTID");
        while ((await claim())[2] >= 50_000) {
          expect(looks++, "looks until the fifth renewal").to.be.below(40);
          await sleep(50);
        }
      }
      gate.resolve();
      await until("the message is acknowledged", async () => (await claim())[0] === "");
      expect(begun).to.equal(1);
    });

    it("EVT-7 does not handle a message that another consumer has taken over", async () => {
      const topic = topicName("taken");
      const bus = busWith({ minIdleMs: 6000 });
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
      await until("the first handler runs", () => begun.length === 1);
      const entries = await bench.raw.xrange(topic, "-", "+");
      await bench.raw.xclaim(topic, "readers", "another", 0, entries[1]?.[0] ?? "");
      await until("it is known", async () => {
        const { meta } = await bus.readiness().check(AbortSignal.timeout(5000));
        return meta?.in_hand === 2;
      });
      gate.resolve();
      const left = async (): Promise<number> => ((await bench.raw.xpending(topic, "readers")) as [number])[0];
      await until("the others are done", async () => (await left()) <= 1);
      expect(begun.slice(0, 2)).to.deep.equal([list[0]?.id, list[2]?.id]);
    });

    it("EVT-7 returns unstarted messages at stop() without counting their delivery", async () => {
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
      await until("one handler runs", () => begun === 1);
      const stopping = consumption.stop();
      gate.resolve();
      await stopping;
      const got: [string, number][] = [];
      await busWith({ minIdleMs: 60_000 }).consume({
        group: "readers",
        topics: [topic],
        handler: async ({ id }, { deliveries }) => Promise.resolve(void got.push([id, deliveries])),
      });
      await until("the others are delivered, long before minIdleMs ends", () => got.length === 3);
      expect(got).to.deep.equal(list.slice(1).map(({ id }) => [id, 1]));
      await consumption.stop();
    });

    it("EVT-7 stops waiting for handlers at the deadline of stop(), so that their messages are delivered again", async () => {
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
      await until("the handler runs", () => begun);
      await consumption.stop();
      expect(logger.at("warn")).to.deep.equal(["handlers are still running; their messages are released"]);
      const again = await collect(busWith(), "readers", topic);
      await until("it is delivered again", () => again.includes(message.id));
      never.resolve();
    });

    it('EVT-7 re-creates a lost group with startFrom "newest" without skipping a message', async () => {
      const topic = topicName("lost");
      const bus = busWith({ startFrom: "newest" });
      await bus.publish(messages(topic, 2));
      const got = await collect(bus, "readers", topic);
      const [first, ...later] = messages(topic, 4) as [BusMessage, ...BusMessage[]];
      await bus.publish([first]);
      await until("the first one is delivered", () => got.length > 0);
      const entries = later.map(({ id, body }) => ["xadd", topic, "*", "id", id, "body", body]);
      await bench.raw.multi([["del", topic], ...entries]).exec();
      await until("the entries from before the new group are delivered", () => got.length > 3);
      expect(got).to.deep.equal([first.id, ...later.map(({ id }) => id)]);
    });

    it('EVT-7 starts with new messages for startFrom "newest", and skips entries from other writers', async () => {
      const topic = topicName("newest");
      const logger = collectingLogger();
      const bus = busWith({ startFrom: "newest", logger });
      await bus.publish(messages(topic, 2));
      const got = await collect(bus, "readers", topic);
      await bench.raw.xadd(topic, "*", "something", "else");
      const [message] = messages(topic, 1) as [BusMessage];
      await bus.publish([message]);
      await until("the new one is delivered", () => got.length > 0);
      expect(got).to.deep.equal([message.id]);
      expect(logger.at("error")).to.deep.equal(["skipped an entry that is not a message of this event bus"]);
      await until(
        "it is acknowledged",
        async () => ((await bench.raw.xpending(topic, "readers")) as [number])[0] === 0,
      );
    });
  });
});
