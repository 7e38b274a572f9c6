import assert from "node:assert/strict";
import { type Draft, idsOf } from "./bench.ts";

/** Cases about rejected messages, dead consumers and broker outages. */
export const faultCases: readonly Draft[] = [
  {
    name: "delivers a rejected message again, with its delivery count",
    async play({ bus, gather, message, until }) {
      const rejected = message();
      const other = message();
      const got = await gather({
        doing({ id }, deliveries) {
          if (id === rejected.id && deliveries < 3) throw new Error("not yet");
        },
      });
      await bus.publish([rejected, other]);
      const counts = (): number[] =>
        got.deliveries.filter((each) => each.message.id === rejected.id).map(({ deliveries }) => deliveries);
      await until("the third delivery", () => counts().includes(3));
      await got.has([other]);
      assert.deepEqual(counts(), [1, 2, 3]);
    },
  },
  {
    name: "holds back later messages with the same key until a rejected message is handled",
    needs: "ordered",
    async play({ bus, gather, messages, until }) {
      const sent = messages(4, { key: "same" });
      const handled: string[] = [];
      let failures = 0;
      await gather({
        concurrency: 4,
        doing({ id }) {
          if (id === sent[1]?.id && ++failures < 3) throw new Error("not yet");
          handled.push(id);
        },
      });
      await bus.publish(sent);
      await until("all messages are handled", () => handled.length >= sent.length);
      assert.deepEqual(handled, idsOf(sent));
    },
  },
  {
    name: "delivers the unacknowledged messages of a dead consumer to another consumer",
    async play({ bench, bus, another, gather, name, messages, until }) {
      const { breakConnection } = bench;
      if (breakConnection === undefined) return;
      const group = name("replicas");
      const sent = messages(3);
      const dying = await another();
      const never = Promise.withResolvers<void>();
      const first = await gather({ group, bus: dying, doing: () => never.promise });
      await bus.publish(sent);
      await until("the first handler has started", () => first.deliveries.length > 0);
      await breakConnection(dying);
      const second = await gather({ group });
      await second.has(sent);
      const begun = second.deliveries.find(({ message }) => message.id === first.ids()[0]);
      assert.ok((begun?.deliveries ?? 0) >= 2, "the redelivery was counted as the first delivery");
      never.resolve();
    },
  },
  {
    name: "continues after a broker outage",
    async play({ bench, bus, gather, messages, until }) {
      const { restartBroker } = bench;
      if (restartBroker === undefined) return;
      const before = messages(3);
      const got = await gather();
      await bus.publish(before);
      await got.has(before);
      await restartBroker();
      const after = messages(3);
      await until("the bus accepts messages", () =>
        bus.publish(after).then(
          () => true,
          () => false,
        ),
      );
      await got.has(after);
      const check = async (): Promise<boolean> =>
        (await bus.readiness().check(AbortSignal.timeout(5000))).healthy;
      await until("the check is healthy", check);
    },
  },
];
