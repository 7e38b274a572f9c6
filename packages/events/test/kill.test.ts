import { testDatabase } from "@svc/dev-services";
import type { BusMessage } from "@svc/events";
import { createEvents } from "@svc/events";
import { createJobTable, createWorker } from "@svc/job-table";
import { until } from "@svc/test-support";
import { expect } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { hasten, openBench } from "./support/bench.ts";
import { effect, prepareEffects } from "./support/effects.ts";
import { obedientBus } from "./support/obedient-bus.ts";

const script = fileURLToPath(new URL("support/dying-relay.ts", import.meta.url));

describe("a relay that is killed", function () {
  this.timeout(90_000);
  const database = testDatabase({ name: "events-kill" });

  it("OUT-1 OUT-2 leaves events that it sent but did not mark to the next relay, and every effect happens once", async () => {
    await using bench = await openBench(database.url, 20);
    const { pool } = bench;
    await prepareEffects(pool);
    await pool.query("create table sent (id text, body text)");
    const bus = Object.assign(obedientBus(), {
      async publish(messages: readonly BusMessage[]) {
        for (const { id, body } of messages) await pool.query("insert into sent values ($1, $2)", [id, body]);
      },
    });
    const subscribers = { "expense.recorded": { totals: effect(pool, "totals") } };
    const events = bench.events({ bus, subscribers });
    const published = await events.publishMany(
      Array.from({ length: 10 }, (_, n) => ({ type: "expense.recorded", data: { n }, key: `${n % 3}` })),
    );
    const ids = published.map(({ id }) => id).toSorted();

    const args = ["--conditions=@svc/source", script, database.url, bench.table.name, bench.outbox.name];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");

    const relay = bench.relay(events);
    expect(await relay.drainOnce(), "their leases are still valid").to.include({ claimed: 0 });
    expect(await bench.jobs(), "no job without the mark").to.deep.equal([]);
    await hasten(bench);
    expect(await relay.drainOnce()).to.include({ relayed: 10 });
    const { rows: sent } = await pool.query<{ id: string; body: string }>("select * from sent");
    expect(sent.map(({ id }) => id).toSorted()).to.deep.equal([...ids, ...ids].toSorted());

    // The second service receives all 20 messages, of which the last ten arrive after the jobs of the first ten are
    // deleted.
    const elsewhere = createJobTable({ db: pool, name: "jobs_elsewhere" });
    await elsewhere.ensureSchema();
    const others = createEvents({
      source: "reports",
      table: elsewhere,
      subscribers: { "expense.recorded": { report: effect(pool, "report") } },
    });
    const workers = [
      createWorker({ table: bench.table, handlers: events.handlers, pollMs: 20 }),
      createWorker({ table: elsewhere, handlers: others.handlers, pollMs: 20 }),
    ];
    for (const worker of workers) worker.start();
    for (const half of [sent.slice(0, 10), sent.slice(10)]) {
      for (const { id, body } of half)
        await others.receive({ topic: "expense.recorded", id, key: null, body });
      await until("no job is left", async () => {
        const { pending, running, dead } = await elsewhere.stats();
        return pending + running + dead === 0;
      });
    }
    await until("no job is left here", async () => (await bench.jobs()).length === 0);
    await Promise.all(workers.map((worker) => worker.stop()));
    const { rows: effects } = await pool.query<{ consumer: string; event: string }>("select * from effects");
    for (const consumer of ["totals", "report"]) {
      const mine = effects.filter((each) => each.consumer === consumer).map(({ event }) => event);
      expect(mine.toSorted(), consumer).to.deep.equal(ids);
    }
  });
});
