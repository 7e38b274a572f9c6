import type { BusMessage } from "@svc/events";
import { EventBusError } from "@svc/events/redis-streams";
import { rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { Redis } from "ioredis";
import { setTimeout as sleep } from "node:timers/promises";
import { idsOf, messages, topicName } from "./support/messages.ts";
import { redisBench } from "./support/redis-bench.ts";

describe("the bus on Redis Streams", function () {
  this.timeout(60_000);
  const bench = redisBench();
  const { busWith, collect } = bench;

  describe("when it publishes", () => {
    it("EVT-7 drops a repeated id within the window, and stores it again after the window", async () => {
      const topic = topicName("window");
      const list = messages(topic, 1);
      await busWith({ dedupSeconds: 60 }).publish(list);
      await busWith({ dedupSeconds: 60 }).publish([...list, ...list]);
      expect(await bench.raw.xlen(topic)).to.equal(1);
      // The window of the publishing bus applies, here 0.15 s.
      await sleep(170);
      await busWith({ dedupSeconds: 0.15 }).publish(list);
      expect(await bench.raw.xlen(topic)).to.equal(2);
      await until("ids are forgotten", async () => (await bench.raw.exists(`${topic}:ids`)) === 0);
      await busWith({ dedupSeconds: 0 }).publish([...list, ...list]);
      expect(await bench.raw.xlen(topic)).to.equal(4);
      expect(await bench.raw.exists(`${topic}:ids`)).to.equal(0);
    });

    it("EVT-7 keeps the order of more messages than fit into one command", async () => {
      const topic = topicName("many");
      const list = messages(topic, 1300, { key: "k", body: "x".repeat(2000) });
      await busWith().publish(list);
      const kept = (await bench.raw.xrange(topic, "-", "+")).map(([, fields]) => fields[1]);
      expect(kept).to.deep.equal(idsOf(list));
    });

    it("EVT-7 writes id, key and body to the stream prefix + topic, and copies the given client's settings without using the client", async () => {
      const client = new Redis(bench.server.url, { keyPrefix: "app:", lazyConnect: true });
      const bus = busWith({ redis: client, prefix: "events:" });
      const topic = topicName("fields");
      const [one, two] = messages(topic, 2) as [BusMessage, BusMessage];
      await bus.publish([one, { ...two, key: "k" }]);
      const entries = (await bench.raw.xrange(`app:events:${topic}`, "-", "+")).map(([, fields]) => fields);
      expect(entries).to.deep.equal([
        ["id", one.id, "body", one.body],
        ["id", two.id, "key", "k", "body", two.body],
      ]);
      const got = await collect(bus, "readers", topic);
      await until("both have come", () => got.length === 2);
      await bus.close();
      expect(client.status).to.equal("wait");
    });

    it("EVT-7 rejects invalid messages before it sends anything", async () => {
      const bus = busWith({ maxBodyBytes: 10 });
      const topic = topicName("refused");
      const [good] = messages(topic, 1, { body: "{}" }) as [BusMessage];
      const wrong: [Partial<BusMessage>, RegExp][] = [
        [
          { topic: "two words" },
          /its topic must consist of words of letters, digits, _ and -, .*"two words"/,
        ],
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
      expect(await bench.raw.exists(topic)).to.equal(0);
    });

    it("EVT-7 rejects publish() and consume() when the topic's key is not a stream", async () => {
      const topic = topicName("string");
      await bench.raw.set(topic, "something else");
      const bus = busWith();
      for (const operation of [
        () => bus.publish(messages(topic, 1)),
        () => bus.consume({ group: "g", topics: [topic], handler: () => Promise.resolve() }),
      ]) {
        const error = await rejection(operation);
        expect(error.code).to.equal("ERR_SVC_EVENT_BUS_REFUSED");
        expect(error.message).to.match(/holds a value of another type \(WRONGTYPE\)/);
      }
    });
  });
});
