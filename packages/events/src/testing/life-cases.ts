import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { type Draft, messageFor } from "./bench.ts";

/** Cases on the end of a bus and its readiness. */
export const lifeCases: readonly Draft[] = [
  {
    name: "finishes running handlers at a stop, and leaves other messages to other consumers",
    async play({ bus, another, gather, name, until }) {
      const topic = name("stop");
      const group = name("replicas");
      const messages = Array.from({ length: 4 }, () => messageFor(topic, { key: "same" }));
      const gate = Promise.withResolvers<void>();
      const got = await gather({ group, topics: [topic], doing: () => gate.promise });
      await bus.publish(messages);
      await until("the first one has begun", () => got.deliveries.length > 0);
      let ended = false;
      const stopping = got.consumption.stop().then(() => (ended = true));
      await sleep(30);
      assert.equal(ended, false, "it ended while a handler ran");
      gate.resolve();
      await stopping;
      await got.consumption.stopped;
      assert.equal(got.deliveries.length, 1, "a further message was begun");
      const rest = await gather({ group, topics: [topic], bus: await another() });
      await rest.has(messages.slice(1));
      assert.equal(rest.ids().includes(messages[0]?.id ?? ""), false, "what was finished came again");
    },
  },
  {
    name: "ends everything at close(), which can be called twice",
    async play({ bus, another, gather, name }) {
      const topic = name("closed");
      const other = await another();
      const message = messageFor(topic);
      const got = await gather({ group: name("readers"), topics: [topic], bus: other });
      await bus.publish([message]);
      await got.has([message]);
      await other.close();
      await other.close();
      await got.consumption.stopped;
      await assert.rejects(other.publish([messageFor(topic)]), "a closed bus took a message");
      await assert.rejects(
        other.consume({ group: name("late"), topics: [topic], handler: async () => undefined }),
        "a closed bus began to consume",
      );
      assert.equal((await other.readiness().check(AbortSignal.timeout(5000))).healthy, false);
    },
  },
  {
    name: "has a readiness check that is never critical",
    async play({ bus, name }) {
      await bus.publish([messageFor(name("ready"))]);
      const readiness = bus.readiness();
      assert.equal(readiness.name, "event-bus");
      assert.equal(readiness.critical, false);
      const { healthy, detail, critical } = await readiness.check(AbortSignal.timeout(5000));
      assert.deepEqual({ healthy, critical: critical ?? false }, { healthy: true, critical: false }, detail);
    },
  },
  {
    name: "publishes nothing after the caller's signal aborted",
    async play({ bus, name }) {
      const signal = AbortSignal.abort(new Error("given up"));
      await assert.rejects(bus.publish([messageFor(name("aborted"))], { signal }), { message: "given up" });
    },
  },
];
