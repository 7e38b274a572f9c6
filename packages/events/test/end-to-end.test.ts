import { testDatabase, testRedis } from "@svc/dev-services";
import { createBusConsumer, createEvents } from "@svc/events";
import { createRedisStreamsBus } from "@svc/events/redis-streams";
import { createJobTable, createWorker } from "@svc/job-table";
import { withTransaction } from "@svc/sql";
import { until } from "@svc/test-support";
import { expect } from "chai";
import { openBench } from "./support/bench.ts";
import { effect, prepareEffects } from "./support/effects.ts";

describe("an event", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "events-end-to-end" });
  const redis = testRedis();

  it("EVT-2 EVT-8 OUT-1 reaches one local and one remote subscriber once each after its transaction commits", async () => {
    await using bench = await openBench(database.url, 20);
    await prepareEffects(bench.pool);
    const open = (): ReturnType<typeof createRedisStreamsBus> =>
      createRedisStreamsBus({ redis: redis.url, prefix: redis.keyPrefix });
    const [here, there] = [open(), open()];
    const events = bench.events({
      bus: here,
      subscribers: { "expense.recorded": { totals: effect(bench.pool, "totals") } },
    });
    const elsewhere = createJobTable({ db: bench.pool, name: "jobs_elsewhere" });
    await elsewhere.ensureSchema();
    const reports = createEvents({
      source: "reports",
      table: elsewhere,
      subscribers: { "expense.recorded": { report: effect(bench.pool, "report") } },
    });
    const parts = [
      bench.relay(events),
      createBusConsumer({ bus: here, events, group: "books" }),
      createBusConsumer({ bus: there, events: reports, group: "reports" }),
      createWorker({ table: bench.table, handlers: events.handlers, pollMs: 20 }),
      createWorker({ table: elsewhere, handlers: reports.handlers, pollMs: 20 }),
    ];
    for (const part of parts) part.start();
    const ids = Array.from({ length: 20 }, (_, n) => `e-${String(n).padStart(2, "0")}`);
    for (const id of ids) {
      const work = withTransaction(bench.pool, async (tx) => {
        await events.publish({ type: "expense.recorded", id, key: "k", data: { id } }, { tx });
        if (Number(id.slice(2)) % 5 === 0) throw new Error("it is not recorded after all");
      });
      await work.catch(() => undefined);
    }
    const expected = ids.filter((_, n) => n % 5 !== 0);
    const effects = async (): Promise<string[]> => {
      const { rows } = await bench.pool.query<{ line: string }>(
        "select consumer || ' ' || event as line from effects order by 1",
      );
      return rows.map(({ line }) => line);
    };
    await until("all effects", async () => (await effects()).length >= 2 * expected.length, 30_000);
    await Promise.all(parts.map((part) => part.stop()));
    await Promise.all([here.close(), there.close()]);
    expect(await effects()).to.deep.equal(
      ["report", "totals"].flatMap((consumer) => expected.map((id) => `${consumer} ${id}`)),
    );
  });
});
