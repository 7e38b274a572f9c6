import { testDatabase } from "@svc/dev-services";
import type { BusMessage, EventEnvelope } from "@svc/events";
import { createWorker } from "@svc/job-table";
import { until } from "@svc/test-support";
import { expect } from "chai";
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { openBench } from "./support/bench.ts";
import { effect, prepareEffects } from "./support/effects.ts";
import { obedientBus } from "./support/obedient-bus.ts";

describe("several replicas", function () {
  this.timeout(90_000);
  const database = testDatabase({ name: "events-replicas" });

  it("OUT-6 OUT-1 OUT-2 relay and consume 400 events once with two relays and two workers", async () => {
    await using bench = await openBench(database.url, 20);
    await prepareEffects(bench.pool);
    const taken: string[] = [];
    const [atTheBus, atWork] = [meeting(), meeting()];
    const replica = (by: string): ReturnType<typeof bench.events> => {
      const bus = Object.assign(obedientBus(), {
        async publish(messages: readonly BusMessage[]) {
          await atTheBus(by);
          // This pause simulates the latency of a broker and its network.
          await sleep(5);
          taken.push(...messages.map(({ id }) => id));
        },
      });
      const note = effect(bench.pool, "totals", by);
      const totals = async (event: EventEnvelope, job: Parameters<typeof note>[1]): Promise<void> => {
        await atWork(by);
        await sleep(1);
        await note(event, job);
      };
      return bench.events({ bus, subscribers: { "expense.recorded": { totals } } });
    };
    const replicas = [replica("first"), replica("second")];
    const workers = replicas.map(({ handlers }) =>
      createWorker({ table: bench.table, handlers, pollMs: 20, concurrency: 4 }),
    );
    const relays = replicas.map((events) => bench.relay(events, { batch: 20 }));
    const expected = new Set<string>();
    for (let batch = 0; batch < 4; batch++) {
      const events = Array.from({ length: 100 }, (_, n) => ({
        type: "expense.recorded",
        data: { n },
        key: n % 2 === 0 ? null : `key-${n % 20}`,
      }));
      const envelopes = await replicas[batch % 2]?.publishMany(events);
      for (const { id } of envelopes ?? []) expected.add(id);
    }
    for (const each of [...workers, ...relays]) each.start();
    const effects = async (): Promise<{ event: string; by: string }[]> =>
      (await bench.pool.query<{ event: string; by: string }>("select * from effects")).rows;
    await until("400 effects", async () => (await effects()).length >= 400, 60_000);
    await until("no job is left", async () => (await bench.jobs()).length === 0);
    await Promise.all([...workers, ...relays].map((each) => each.stop()));

    const done = await effects();
    expect(expected.size).to.equal(400);
    expect(taken.toSorted()).to.deep.equal([...expected].toSorted());
    expect(done.map(({ event }) => event).toSorted()).to.deep.equal([...expected].toSorted());
    const relayed = relays.map(({ reported }) =>
      reported.flatMap((event) => (event.type === "relayed" ? event.ids : [])),
    );
    expect(relayed.flat().toSorted()).to.deep.equal([...expected].toSorted());
    for (const ids of relayed) expect(ids, "each relay took part").to.not.deep.equal([]);
    for (const by of ["first", "second"]) {
      expect(
        done.some((each) => each.by === by),
        `the ${by} worker took part`,
      ).to.equal(true);
    }
    expect(await bench.outbox.stats()).to.deep.equal({ pending: 0, published: 400, dead: 0 });
  });

  it("OUT-5 OUT-1 keep the order per key while a bus repeatedly accepts only some events and then fails", async () => {
    await using bench = await openBench(database.url, 20);
    const taken: BusMessage[] = [];
    let calls = 0;
    const bus = Object.assign(obedientBus(), {
      async publish(messages: readonly BusMessage[]) {
        calls += 1;
        await sleep(calls % 3);
        // About one call in three accepts only some of its messages and fails. A hash selects these calls, so that
        // their pattern does not match the rhythm of the relays.
        const fails = (createHash("sha256").update(String(calls)).digest()[0] ?? 0) % 3 === 0;
        const upTo = fails ? calls % (messages.length + 1) : messages.length;
        taken.push(...messages.slice(0, upTo));
        if (fails) throw new Error("a part is missing");
      },
    });
    const events = bench.events({ bus });
    const keys = Array.from({ length: 8 }, (_, n) => `key-${n}`);
    let rounds = 0;
    const publish = async (): Promise<void> => {
      for (const end = rounds + 20; rounds < end; rounds++) {
        const data = { n: rounds };
        await events.publishMany(keys.map((key) => ({ type: "a", key, data, id: `${key}:${data.n}` })));
      }
    };
    await publish();
    // Allow so many attempts that no event becomes dead.
    const options = { batch: 12, maxAttempts: 1000 };
    const relays = [bench.relay(events, options), bench.relay(events, options)];
    for (const relay of relays) relay.start();
    const tookPart = (): boolean =>
      relays.every(({ reported }) =>
        ["relayed", "failed"].every((each) => reported.some(({ type }) => type === each)),
      );
    await until(
      "all are published, and each relay has had both",
      async () => {
        // Make delayed events due.
        await bench.pool.query(
          `update ${bench.outbox.name} set available_at = now() where id = any(array(
            select id from ${bench.outbox.name}
            where status = 'pending' and last_error is not null for update skip locked))`,
        );
        if ((await bench.outbox.stats()).published < rounds * keys.length) return false;
        // Publish more batches until each relay has had a success and a failure.
        if (tookPart()) return true;
        await publish();
        return false;
      },
      60_000,
    );
    await Promise.all(relays.map((relay) => relay.stop()));
    for (const key of keys) {
      const first = new Set(taken.filter((message) => message.key === key).map(({ id }) => id));
      expect([...first]).to.deep.equal(Array.from({ length: rounds }, (_, n) => `${key}:${n}`));
    }
  });

  it("OUT-5 order events with the same key by the time of their insert, not of their transaction's start", async () => {
    await using bench = await openBench(database.url);
    const bus = obedientBus();
    const events = bench.events({ bus });
    const early = await bench.pool.connect();
    const late = await bench.pool.connect();
    await early.query("begin; select now()");
    await late.query("begin");
    await events.publishMany(
      [1, 2, 3].map((n) => ({ type: "a", id: `late-${n}`, key: "k", data: {} })),
      { tx: late },
    );
    await late.query("commit");
    await events.publish({ type: "a", id: "early", key: "k", data: {} }, { tx: early });
    await early.query("commit");
    early.release();
    late.release();
    await bench.relay(events).drainOnce();
    expect(bus.taken.map(({ id }) => id)).to.deep.equal(["late-1", "late-2", "late-3", "early"]);
  });
});

/** Returns a function whose calls wait until two different callers have called it. */
function meeting(): (who: string) => Promise<void> {
  const there = new Set<string>();
  const { promise, resolve } = Promise.withResolvers<void>();
  return (who) => {
    there.add(who);
    if (there.size === 2) resolve();
    return promise;
  };
}
