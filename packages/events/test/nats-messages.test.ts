import { collectingLogger, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import type { BusMessage } from "@svc/events";
import { setTimeout as sleep } from "node:timers/promises";
import { idsOf, messages, topicName } from "./support/messages.ts";
import { natsBench } from "./support/nats-bench.ts";

describe("the bus on NATS JetStream", function () {
  this.timeout(60_000);
  const bench = natsBench();
  const { busWith, collect } = bench;

  describe("when it publishes and consumes", () => {
    it("EVT-7 delivers messages with any id, the longest topic and the longest group name unchanged", async () => {
      const topic = topicName("x".repeat(280)).padEnd(300, "y");
      const ids = ["50 % off", "%41", "Zürich/東京 🚀", "a=b:c", "i".repeat(255)];
      const list = ids.map((id) => ({ ...messages(topic, 1, { key: id })[0], id }) as BusMessage);
      const got: BusMessage[] = [];
      await busWith().consume({
        group: "g.".repeat(50),
        topics: [topic],
        handler: async (message) => Promise.resolve(void got.push(message)),
      });
      await busWith().publish(list);
      await until("all are delivered", () => got.length === list.length);
      expect(got).to.deep.equal(list);
    });

    it("EVT-7 stores each of many messages once within the duplicate window, in order", async () => {
      const topic = topicName("many");
      const list = messages(topic, 700, { key: "k" });
      const [one, two] = [busWith(), busWith()];
      await one.publish(list);
      await two.publish(list);
      const got = await collect(one, "g", topic);
      await until("all are delivered", () => got.length >= list.length);
      expect(got).to.deep.equal(idsOf(list));
    });

    it("EVT-7 reports a message as in progress at least once per ack wait while its handler runs", async () => {
      const topic = topicName("long");
      const gate = Promise.withResolvers<void>();
      let begun = 0;
      const handler = async (): Promise<void> => {
        begun++;
        await gate.promise;
      };
      // Create the consumer with a long ack wait, which the server keeps, so that a stall of this process causes no
      // redelivery.
      const group = { group: "g", topics: [topic], handler };
      await (await busWith({ ackWaitMs: 60_000 }).consume(group)).stop();
      const buses = [1, 2].map(() => busWith({ ackWaitMs: 600, prefetch: 1 }));
      for (const bus of buses) await bus.consume(group);
      const acks = bench.connection.subscribe("$JS.ACK.>");
      await bench.connection.flush();
      await busWith().publish(messages(topic, buses.length));
      await until("each consumer handles a message", () => begun === buses.length);
      const signals = new Map<string, number>();
      const reading = (async () => {
        let left = buses.length;
        for await (const ack of acks) {
          if (ack.string() === "+WPI") signals.set(ack.subject, (signals.get(ack.subject) ?? 0) + 1);
          if (ack.string() === "+ACK" && --left === 0) return;
        }
      })();
      // Count timer intervals, not elapsed time, because a stall of this process delays this timer and the consumers alike.
      const turns = 8;
      for (let turn = 0; turn < turns; turn++) await sleep(300);
      gate.resolve();
      await reading;
      expect(signals.size).to.equal(buses.length);
      for (const count of signals.values()) expect(count).to.be.at.least(turns);
      expect(begun).to.equal(buses.length);
    });

    it("EVT-7 delivers a stopped consumer's unstarted messages to the next consumer immediately", async () => {
      const topic = topicName("back");
      const list = messages(topic, 4, { key: "same" });
      const gate = Promise.withResolvers<void>();
      let begun = 0;
      const bus = busWith({ ackWaitMs: 60_000 });
      const consumption = await bus.consume({
        group: "g",
        topics: [topic],
        async handler() {
          begun++;
          await gate.promise;
        },
      });
      await bus.publish(list);
      await until("one handler runs", () => begun === 1);
      await until("it holds the others", async () => {
        const { meta } = await bus.readiness().check(AbortSignal.timeout(5000));
        return meta?.["in_hand"] === list.length;
      });
      const stopping = consumption.stop();
      gate.resolve();
      await stopping;
      const got = await collect(busWith(), "g", topic);
      await until("the others are delivered, long before the ack wait ends", () => got.length === 3);
      expect(got).to.deep.equal(idsOf(list).slice(1));
    });

    it("EVT-7 rejects a message that is too large for the server with a permanent error", async () => {
      const [message] = messages(topicName("large"), 1, { body: "x".repeat(1_100_000) }) as [BusMessage];
      const error = await rejection(busWith({ maxBodyBytes: 2_000_000 }).publish([message]));
      expect(error).to.include({ code: "ERR_SVC_EVENT_BUS_MESSAGE", permanent: true, messageId: message.id });
      expect(error.message).to.match(/the server accepts at most 1048576 bytes/);
    });

    it('EVT-7 skips messages from other publishers, and starts with new messages for startFrom "newest"', async () => {
      const topic = topicName("newest");
      const logger = collectingLogger();
      const bus = busWith({ startFrom: "newest", logger });
      await bus.publish(messages(topic, 2));
      const got = await collect(bus, "g", topic);
      bench.connection.publish(`shared.${topic}`, "something else");
      await bench.connection.flush();
      const list = messages(topic, 1);
      await bus.publish(list);
      await until("it is delivered", () => got.length > 0);
      expect(got).to.deep.equal(idsOf(list));
      expect(logger.at("error")).to.have.length(1);
    });
  });
});
