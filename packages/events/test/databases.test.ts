import { createDatabase } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { createEvents, createOutbox, createRelay, type RelayEvent } from "@svc/events";
import { createJobTable } from "@svc/job-table";
import type { Database, PooledConnection } from "@svc/sql";
import { rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { Client } from "pg";
import { hasten, openBench } from "./support/bench.ts";
import { obedientBus } from "./support/obedient-bus.ts";

const subscribers = { a: { one: () => undefined } };

describe("a relay on a database", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "events-databases" });

  async function relayed(db: Database, name: string): Promise<void> {
    const table = createJobTable({ db, name: `${name}_jobs` });
    const outbox = createOutbox({ db, name });
    await table.ensureSchema();
    await outbox.ensureSchema();
    const events = createEvents({ source: "books", table, outbox, subscribers });
    const many = Array.from({ length: 5 }, (_, n) => ({ type: "a", data: {}, key: n < 3 ? "k" : null }));
    await events.publishMany(many);
    expect(await createRelay({ outbox, events }).drainOnce()).to.include({ relayed: 5 });
    expect(await table.stats()).to.include({ pending: 5 });
  }

  it("relays events through a single client instead of a pool", async () => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await relayed(client, "single");
    await client.end();
  });

  it("relays events through a database from @svc/database", async () => {
    const db = createDatabase({ url: database.url });
    await relayed(db, "shipped");
    await db.stop();
  });

  it("continues when all its connections are cut repeatedly, and loses no event", async () => {
    await using bench = await openBench(database.url);
    const bus = obedientBus();
    const events = bench.events({ bus, subscribers });
    const many = Array.from({ length: 200 }, (_, n) => ({ type: "a", data: {}, key: `${n % 7}` }));
    const all = [...(await events.publishMany(many))];
    const reported: RelayEvent[] = [];
    const options = { outbox: bench.outbox, events, batch: 10, everyMs: 10, leaseSeconds: 2 };
    await using relay = createRelay({ ...options, onEvent: (event) => reported.push(event) });
    relay.start();
    const cutter = new Client({ connectionString: database.url });
    cutter.on("error", () => undefined);
    await cutter.connect();
    for (let cut = 1; cut <= 3; cut++) {
      await until("some are relayed", () => reported.filter(({ type }) => type === "relayed").length >= cut);
      await cutter.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
      );
      const before = reported.length;
      // Publish more events, because on a busy machine all earlier ones may already be relayed.
      await cutter.query("begin");
      all.push(...(await events.publishMany(many, { tx: cutter })));
      await cutter.query("commit");
      await until("a pass is cut, or the next one is over", () => reported.length > before);
      // End the leases of events claimed by a relay whose connection was cut. Retry, because the pool may still lend a
      // connection that was just cut.
      await until("it does not wait", () =>
        hasten(bench).then(
          () => true,
          () => false,
        ),
      );
    }
    await cutter.end();
    let looks = 0;
    await until("all are published", async () => {
      // Since the last hasten(), the relay may have claimed more events and lost its connection.
      looks += 1;
      if (looks % 20 === 0) await hasten(bench).catch(() => undefined);
      const { published } = await bench.outbox.stats().catch(() => ({ published: 0 }));
      return published === all.length;
    });
    expect(await bench.jobs()).to.have.lengthOf(all.length);
    const ids = new Set(all.map(({ id }) => id));
    expect(new Set(bus.taken.map(({ id }) => id))).to.deep.equal(ids);
  });

  it("OUT-5 finds due events through the indexes even with wrong table statistics", async () => {
    await using bench = await openBench(database.url);
    await bench.pool.query(`insert into ${bench.outbox.name} (id, destination, payload, message_key)
      select md5(n::text), 'a', '{}', case when n % 2 = 0 then 'k' || n % 50 end from generate_series(1, 5000) n`);
    let plan = "";
    const db = {
      async connect(): Promise<PooledConnection> {
        const connection = await bench.pool.connect();
        const query: PooledConnection["query"] = async (text, values) => {
          if (text.startsWith("with recursive")) {
            const { rows } = await connection.query<{ "QUERY PLAN": string }>(`explain ${text}`, values);
            plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
            throw new Error("that is all");
          }
          return connection.query(text, values);
        };
        return { query, release: () => connection.release() };
      },
    };
    const outbox = createOutbox({ db, name: bench.outbox.name });
    const events = bench.events({ outbox, bus: obedientBus() });
    expect((await rejection(createRelay({ outbox, events }).drainOnce())).message).to.equal("that is all");
    expect(plan).to.include("Recursive Union");
    expect(plan).to.not.match(/Seq Scan|Bitmap/);
    const byId = plan.match(/Index Scan using \S+.*\n\s+Index Cond: \(id = /g);
    expect(byId).to.have.lengthOf(3);
    for (const scan of byId ?? []) expect(scan).to.include("_pkey");
  });
});
