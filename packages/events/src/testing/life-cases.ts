import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Draft } from "./bench.ts";

/** Cases about closing a bus and about its readiness. */
export const lifeCases: readonly Draft[] = [
  {
    name: "finishes running handlers when stopped, and leaves other messages to other consumers",
    async play({ bus, another, gather, name, messages, until }) {
      const group = name("replicas");
      const sent = messages(4, { key: "same" });
      const gate = Promise.withResolvers<void>();
      const got = await gather({ group, doing: () => gate.promise });
      await bus.publish(sent);
      await until("the first handler has started", () => got.deliveries.length > 0);
      let ended = false;
      const stopping = got.consumption.stop().then(() => (ended = true));
      await sleep(30);
      assert.equal(ended, false, "stop() ended while a handler was running");
      gate.resolve();
      await stopping;
      await got.consumption.stopped;
      assert.equal(got.deliveries.length, 1, "the handler of another message was started");
      const rest = await gather({ group, bus: await another() });
      await rest.has(sent.slice(1));
      assert.equal(rest.ids().includes(sent[0]?.id ?? ""), false, "a finished message was delivered again");
    },
  },
  {
    name: "stops subscriptions and rejects calls after close(), which can be called twice",
    async play({ bus, another, gather, topic, message }) {
      const other = await another();
      const first = message();
      const got = await gather({ bus: other });
      await bus.publish([first]);
      await got.has([first]);
      await other.close();
      await other.close();
      await got.consumption.stopped;
      await assert.rejects(other.publish([message()]), "a closed bus accepted a message");
      const late = other.consume({ group: "late", topics: [topic], handler: async () => undefined });
      await assert.rejects(late, "a closed bus began to consume");
      assert.equal((await other.readiness().check(AbortSignal.timeout(5000))).healthy, false);
    },
  },
  {
    name: "reports a healthy readiness check that is never critical",
    async play({ bus, message }) {
      await bus.publish([message()]);
      const readiness = bus.readiness();
      assert.equal(readiness.name, "event-bus");
      assert.equal(readiness.critical, false);
      const { healthy, detail, critical } = await readiness.check(AbortSignal.timeout(5000));
      assert.deepEqual({ healthy, critical: critical ?? false }, { healthy: true, critical: false }, detail);
    },
  },
  {
    name: "publishes nothing after the caller's signal aborted",
    async play({ bus, message }) {
      const signal = AbortSignal.abort(new Error("given up"));
      await assert.rejects(bus.publish([message()], { signal }), { message: "given up" });
    },
  },
];
