import assert from "node:assert/strict";
import { type Draft, messageFor, messagesFor } from "./bench.ts";

/** Cases on failures. */
export const faultCases: readonly Draft[] = [
  {
    name: "delivers a rejected message again, with the number of its deliveries",
    async play({ bus, gather, name, until }) {
      const topic = name("rejected");
      const message = messageFor(topic);
      const other = messageFor(topic);
      const got = await gather({
        group: name("readers"),
        topics: [topic],
        doing({ id }, deliveries) {
          if (id === message.id && deliveries < 3) throw new Error("not yet");
        },
      });
      await bus.publish([message, other]);
      const counts = (): number[] =>
        got.deliveries.filter(({ message: { id } }) => id === message.id).map(({ deliveries }) => deliveries);
      await until("the third delivery", () => counts().includes(3));
      await got.has([other]);
      assert.deepEqual(counts(), [1, 2, 3]);
    },
  },
  {
    name: "holds later messages of a key back until a rejected one is handled",
    needs: "ordered",
    async play({ bus, gather, name, until }) {
      const topic = name("overtaken");
      const messages = Array.from({ length: 4 }, () => messageFor(topic, { key: "same" }));
      const handled: string[] = [];
      let failures = 0;
      await gather({
        group: name("readers"),
        topics: [topic],
        concurrency: 4,
        doing({ id }) {
          if (id === messages[1]?.id && ++failures < 3) throw new Error("not yet");
          handled.push(id);
        },
      });
      await bus.publish(messages);
      await until("all are handled", () => handled.length >= messages.length);
      assert.deepEqual(
        handled,
        messages.map(({ id }) => id),
      );
    },
  },
  {
    name: "delivers the unacknowledged messages of a dead consumer to another one",
    async play({ bench, bus, another, gather, name, until }) {
      const { breakConnection } = bench;
      if (breakConnection === undefined) return;
      const topic = name("orphans");
      const group = name("replicas");
      const messages = messagesFor(topic, 3);
      const dying = await another();
      const never = Promise.withResolvers<void>();
      const first = await gather({ group, topics: [topic], bus: dying, doing: () => never.promise });
      await bus.publish(messages);
      await until("the first one has begun", () => first.deliveries.length > 0);
      await breakConnection(dying);
      const second = await gather({ group, topics: [topic] });
      await second.has(messages);
      const begun = second.deliveries.find(({ message }) => message.id === first.ids()[0]);
      assert.ok((begun?.deliveries ?? 0) >= 2, "the second delivery counts as one");
      never.resolve();
    },
  },
  {
    name: "continues after an outage of the broker",
    async play({ bench, bus, gather, name, until }) {
      const { restartBroker } = bench;
      if (restartBroker === undefined) return;
      const topic = name("restart");
      const before = messagesFor(topic, 3);
      const got = await gather({ group: name("readers"), topics: [topic] });
      await bus.publish(before);
      await got.has(before);
      await restartBroker();
      const after = messagesFor(topic, 3);
      await until("the bus takes messages", () =>
        bus.publish(after).then(
          () => true,
          () => false,
        ),
      );
      await got.has(after);
      const readiness = bus.readiness();
      await until(
        "the check is healthy",
        async () => (await readiness.check(AbortSignal.timeout(5000))).healthy,
      );
    },
  },
];
