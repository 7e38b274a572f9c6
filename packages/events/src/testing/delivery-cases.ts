import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { BusMessage } from "../event-bus.ts";
import { type Draft, idsOf } from "./bench.ts";

const once = (ids: readonly string[]): string[] => [...new Set(ids)].toSorted();

/** Cases about delivery and order. */
export const deliveryCases: readonly Draft[] = [
  {
    name: "delivers a message as it was published",
    async play({ bus, gather, message }) {
      const messages = [message(), message({ key: "account 7" }), message({ key: "" })];
      const got = await gather();
      await bus.publish(messages);
      await got.has(messages);
      const seen = got.deliveries.map(({ message }) => message);
      for (const each of messages) {
        assert.deepEqual({ ...seen.find(({ id }) => id === each.id) }, { ...each });
      }
      assert.equal(got.deliveries[0]?.deliveries, 1, "the first delivery counts as 1");
    },
  },
  {
    name: "accepts an empty list, and messages of several topics in one call",
    async play({ bus, gather, name, messages }) {
      const topics = [name("one"), name("two")];
      await bus.publish([]);
      const all = topics.flatMap((topic) => messages(3, { topic }));
      const got = await gather({ topics });
      await bus.publish(all);
      await got.has(all);
      for (const { message } of got.deliveries) {
        assert.equal(message.topic, all.find(({ id }) => id === message.id)?.topic);
      }
    },
  },
  {
    name: "delivers to a group only messages of its topics",
    async play({ bus, gather, topic, message }) {
      const other = `${topic}.not`;
      const got = await gather();
      const wanted = message();
      await bus.publish([message({ topic: other }), wanted]);
      const all = await gather({ topics: [topic, other] });
      await got.has([wanted]);
      await all.has([wanted]);
      assert.deepEqual(once(got.ids()), [wanted.id]);
    },
  },
  {
    name: "delivers every message to every group",
    async play({ bus, another, gather, messages }) {
      const groups = [await gather(), await gather({ bus: await another() })];
      const all = messages(20);
      await bus.publish(all);
      for (const got of groups) {
        await got.has(all);
        assert.deepEqual(once(got.ids()), idsOf(all).toSorted());
      }
    },
  },
  {
    name: "delivers a message to one consumer of a group",
    async play({ bus, another, gather, name, messages, until }) {
      const group = name("replicas");
      const both = [await gather({ group }), await gather({ group, bus: await another() })];
      const sent = messages(40);
      for (let at = 0; at < sent.length; at += 4) await bus.publish(sent.slice(at, at + 4));
      const ids = (): string[] => both.flatMap((each) => [...each.ids()]);
      const all = await gather();
      await all.has(sent);
      await until("the group has received all messages", () => once(ids()).length >= sent.length);
      assert.deepEqual(once(ids()), idsOf(sent).toSorted());
      assert.ok(
        ids().length < 60,
        `40 messages led to ${ids().length} deliveries, although no handler failed`,
      );
    },
  },
  {
    name: "delivers earlier messages to a new group",
    needs: "keepsEarlier",
    async play({ bus, gather, messages }) {
      const earlier = messages(5);
      await bus.publish(earlier);
      const got = await gather();
      await got.has(earlier);
      assert.deepEqual(once(got.ids()), idsOf(earlier).toSorted());
    },
  },
  {
    name: "continues at the group's position after a time without consumers",
    async play({ bus, another, gather, name, messages }) {
      const group = name("sleepers");
      const before = await gather({ group });
      const first = messages(1);
      await bus.publish(first);
      await before.has(first);
      await before.consumption.stop();
      const second = messages(3);
      await bus.publish(second);
      const after = await gather({ group, bus: await another() });
      await after.has(second);
      assert.deepEqual(
        once(after.ids()),
        idsOf(second).toSorted(),
        "an acknowledged message was delivered again",
      );
    },
  },
  {
    name: "keeps the order of each key at any concurrency",
    needs: "ordered",
    async play({ bus, gather, message, until }) {
      const messages = Array.from({ length: 60 }, (_, at) => message({ key: `key ${at % 5}` }));
      const handled: BusMessage[] = [];
      const got = await gather({
        concurrency: 4,
        async doing(each) {
          await sleep(handled.length % 3);
          handled.push(each);
        },
      });
      await bus.publish(messages);
      await got.has(messages);
      await until("all messages are handled", () => handled.length >= messages.length);
      for (let key = 0; key < 5; key++) {
        const mine = (each: BusMessage): boolean => each.key === `key ${key}`;
        const wanted = idsOf(messages.filter(mine));
        assert.deepEqual(idsOf(handled.filter(mine)), wanted, `the order of key ${key}`);
      }
    },
  },
  {
    name: "runs as many handlers concurrently as configured, and no more",
    async play({ bus, gather, messages }) {
      let running = 0;
      let most = 0;
      const full = Promise.withResolvers<void>();
      const all = messages(12);
      const got = await gather({
        concurrency: 3,
        async doing() {
          most = Math.max(most, ++running);
          if (running === 3) full.resolve();
          await full.promise;
          await sleep(2);
          running--;
        },
      });
      await bus.publish(all);
      await got.has(all);
      assert.equal(most, 3);
    },
  },
  {
    name: "delivers a message once even if it was published twice with the same id",
    needs: "deduplicates",
    async play({ bus, another, gather, message }) {
      const twice = message({ key: "k" });
      const last = message({ key: "k" });
      const got = await gather();
      await bus.publish([twice]);
      await bus.publish([twice, message()]);
      await (await another()).publish([twice]);
      await bus.publish([last]);
      await got.has([twice, last]);
      assert.equal(got.ids().filter((id) => id === twice.id).length, 1);
    },
  },
  {
    name: "delivers a message of 200 KB unchanged",
    async play({ bus, gather, message }) {
      const large = message({ body: JSON.stringify({ text: "0123456789".repeat(20_000) }) });
      const got = await gather();
      await bus.publish([large]);
      await got.has([large]);
      assert.equal(got.deliveries[0]?.message.body === large.body, true, "the body is unchanged");
    },
  },
  {
    name: "delivers every character in bodies and keys unchanged",
    async play({ bus, gather, message }) {
      const text = "Zürich 東京 🚀 \u{1F468}\u{200D}\u{1F469} \0 \r\n\t \" ' \\ \u2028 \uFFFD";
      const sent = message({ key: text, body: JSON.stringify({ text }) + text });
      const got = await gather();
      await bus.publish([sent]);
      await got.has([sent]);
      assert.deepEqual({ ...got.deliveries[0]?.message }, { ...sent });
    },
  },
];
