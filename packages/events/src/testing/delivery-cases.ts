import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { BusMessage } from "../event-bus.ts";
import { type Draft, messageFor, messagesFor } from "./bench.ts";

const idsOf = (messages: readonly BusMessage[]): string[] => messages.map(({ id }) => id);
const once = (ids: readonly string[]): string[] => [...new Set(ids)].toSorted();

/** Cases on delivery and order. */
export const deliveryCases: readonly Draft[] = [
  {
    name: "delivers a message as it was published",
    async play({ bus, gather, name }) {
      const topic = name("plain");
      const messages = [
        messageFor(topic),
        messageFor(topic, { key: "account 7" }),
        messageFor(topic, { key: "" }),
      ];
      const got = await gather({ group: name("readers"), topics: [topic] });
      await bus.publish(messages);
      await got.has(messages);
      const seen = got.deliveries.map(({ message }) => message);
      for (const message of messages) {
        assert.deepEqual({ ...seen.find(({ id }) => id === message.id) }, { ...message });
      }
      assert.equal(got.deliveries[0]?.deliveries, 1, "the first delivery counts as 1");
    },
  },
  {
    name: "accepts an empty list, and messages of several topics in one call",
    async play({ bus, gather, name }) {
      const topics = [name("one"), name("two")];
      await bus.publish([]);
      const messages = topics.flatMap((topic) => messagesFor(topic, 3));
      const got = await gather({ group: name("readers"), topics });
      await bus.publish(messages);
      await got.has(messages);
      for (const { message } of got.deliveries) {
        assert.equal(message.topic, messages.find(({ id }) => id === message.id)?.topic);
      }
    },
  },
  {
    name: "delivers to a group only its topics",
    async play({ bus, gather, name }) {
      const [mine, other] = [name("mine"), name("mine.not")];
      const got = await gather({ group: name("readers"), topics: [mine] });
      const wanted = messageFor(mine);
      await bus.publish([messageFor(other), wanted]);
      const all = await gather({ group: name("others"), topics: [mine, other] });
      await got.has([wanted]);
      await all.has([wanted]);
      assert.deepEqual(once(got.ids()), [wanted.id]);
    },
  },
  {
    name: "delivers every message to every group",
    async play({ bus, another, gather, name }) {
      const topic = name("shared");
      const second = await another();
      const groups = [
        await gather({ group: name("a"), topics: [topic] }),
        await gather({ group: name("b"), topics: [topic], bus: second }),
      ];
      const messages = messagesFor(topic, 20);
      await bus.publish(messages);
      for (const got of groups) {
        await got.has(messages);
        assert.deepEqual(once(got.ids()), idsOf(messages).toSorted());
      }
    },
  },
  {
    name: "delivers a message to one consumer of a group",
    async play({ bus, another, gather, name, until }) {
      const topic = name("split");
      const group = name("replicas");
      const both = [
        await gather({ group, topics: [topic] }),
        await gather({ group, topics: [topic], bus: await another() }),
      ];
      const messages = messagesFor(topic, 40);
      for (let at = 0; at < messages.length; at += 4) await bus.publish(messages.slice(at, at + 4));
      const ids = (): string[] => both.flatMap((each) => [...each.ids()]);
      const all = await gather({ group: name("all"), topics: [topic] });
      await all.has(messages);
      await until("the group has all", () => once(ids()).length >= messages.length);
      assert.deepEqual(once(ids()), idsOf(messages).toSorted());
      assert.ok(ids().length < 60, `40 messages were delivered ${ids().length} times, without a fault`);
    },
  },
  {
    name: "delivers earlier messages to a new group",
    needs: "keepsEarlier",
    async play({ bus, gather, name }) {
      const topic = name("earlier");
      const messages = messagesFor(topic, 5);
      await bus.publish(messages);
      const got = await gather({ group: name("late"), topics: [topic] });
      await got.has(messages);
      assert.deepEqual(once(got.ids()), idsOf(messages).toSorted());
    },
  },
  {
    name: "continues at the group's position after a time without consumers",
    async play({ bus, another, gather, name }) {
      const topic = name("pause");
      const group = name("sleepers");
      const before = await gather({ group, topics: [topic] });
      const first = messageFor(topic);
      await bus.publish([first]);
      await before.has([first]);
      await before.consumption.stop();
      const second = messagesFor(topic, 3);
      await bus.publish(second);
      const after = await gather({ group, topics: [topic], bus: await another() });
      await after.has(second);
      assert.deepEqual(once(after.ids()), idsOf(second).toSorted(), "what was acknowledged came again");
    },
  },
  {
    name: "keeps the order of each key at any concurrency",
    needs: "ordered",
    async play({ bus, gather, name, until }) {
      const topic = name("ordered");
      const messages = Array.from({ length: 60 }, (_, at) => messageFor(topic, { key: `key ${at % 5}` }));
      const handled: BusMessage[] = [];
      const got = await gather({
        group: name("readers"),
        topics: [topic],
        concurrency: 4,
        async doing(message) {
          await sleep(handled.length % 3);
          handled.push(message);
        },
      });
      await bus.publish(messages);
      await got.has(messages);
      await until("all are handled", () => handled.length >= messages.length);
      for (let key = 0; key < 5; key++) {
        const mine = (each: BusMessage): boolean => each.key === `key ${key}`;
        assert.deepEqual(
          idsOf(handled.filter(mine)),
          idsOf(messages.filter(mine)),
          `the order of key ${key}`,
        );
      }
    },
  },
  {
    name: "runs as many handlers concurrently as configured, and no more",
    async play({ bus, gather, name }) {
      const topic = name("wide");
      let running = 0;
      let most = 0;
      const full = Promise.withResolvers<void>();
      const messages = messagesFor(topic, 12);
      const got = await gather({
        group: name("readers"),
        topics: [topic],
        concurrency: 3,
        async doing() {
          most = Math.max(most, ++running);
          if (running === 3) full.resolve();
          await full.promise;
          await sleep(2);
          running--;
        },
      });
      await bus.publish(messages);
      await got.has(messages);
      assert.equal(most, 3);
    },
  },
  {
    name: "delivers a message once that was published twice with the same id",
    needs: "deduplicates",
    async play({ bus, another, gather, name }) {
      const topic = name("twice");
      const message = messageFor(topic, { key: "k" });
      const last = messageFor(topic, { key: "k" });
      const got = await gather({ group: name("readers"), topics: [topic] });
      await bus.publish([message]);
      await bus.publish([message, messageFor(topic)]);
      await (await another()).publish([message]);
      await bus.publish([last]);
      await got.has([message, last]);
      assert.equal(got.ids().filter((id) => id === message.id).length, 1);
    },
  },
  {
    name: "carries 200 KB",
    async play({ bus, gather, name }) {
      const topic = name("large");
      const message = messageFor(topic, { body: JSON.stringify({ text: "0123456789".repeat(20_000) }) });
      const got = await gather({ group: name("readers"), topics: [topic] });
      await bus.publish([message]);
      await got.has([message]);
      assert.equal(got.deliveries[0]?.message.body === message.body, true, "the body is as it was");
    },
  },
  {
    name: "carries every character in bodies and keys",
    async play({ bus, gather, name }) {
      const topic = name("unicode");
      const text = "Zürich 東京 🚀 \u{1F468}\u{200D}\u{1F469} \0 \r\n\t \" ' \\ \u2028 \uFFFD";
      const message = messageFor(topic, { key: text, body: JSON.stringify({ text }) + text });
      const got = await gather({ group: name("readers"), topics: [topic] });
      await bus.publish([message]);
      await got.has([message]);
      assert.deepEqual({ ...got.deliveries[0]?.message }, { ...message });
    },
  },
];
