import { openTestLogin, testDatabase, testPgBouncer } from "@svc/dev-services";
import { createJobTable } from "@svc/job-table";
import { collectingLogger } from "@svc/test-support";
import { expect } from "chai";
import { openBench, openPool } from "./support/bench.ts";
import { gate, work } from "./support/working.ts";

describe("behind PgBouncer in transaction mode", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-pgbouncer" });
  const pgBouncer = testPgBouncer();

  it("a worker with listen: false runs all jobs, and leaves no settings on shared connections", async () => {
    await using bench = await openBench(database.url);
    await using login = await openTestLogin({
      url: database.url,
      grants: [`grant all on ${bench.table.name} to login`],
    });
    await using bouncer = await pgBouncer.start(login.url, 2);
    const pool = openPool(bouncer.url, 10);
    const table = createJobTable({ db: pool, name: bench.table.name });
    await table.enqueueMany(Array.from({ length: 200 }, () => ({ task: "a" })));
    const working = work(
      { ...bench, table },
      { listen: false, concurrency: 10, handlers: { a: () => pool.query("select 1") } },
    );
    await working.reported("done", 200);
    await working.worker.stop();
    expect(working.ids("fault")).to.deep.equal([]);
    expect(await bench.rows()).to.deep.equal([]);
    for (let round = 0; round < 4; round++) {
      expect((await pool.query("select current_setting('enable_seqscan') as it")).rows).to.deep.equal([
        { it: "on" },
      ]);
    }
    await pool.end();
  });

  it("a worker with listen: true logs a warning, unlike a worker on a direct connection", async () => {
    await using bench = await openBench(database.url);
    await using login = await openTestLogin({
      url: database.url,
      grants: [`grant all on ${bench.table.name} to login`],
    });
    await using bouncer = await pgBouncer.start(login.url, 2);
    const pool = openPool(bouncer.url);
    const table = createJobTable({ db: pool, name: bench.table.name });
    const behind = collectingLogger();
    const direct = collectingLogger();
    // Each worker holds four jobs until the other has some, so neither can run all eight.
    const { opened, open } = gate();
    await bench.table.enqueueMany(Array.from({ length: 8 }, () => ({ task: "a" })));
    await using pooled = work({ ...bench, table }, { logger: behind, handlers: { a: () => opened } });
    await using plain = work(bench, { logger: direct, handlers: { a: () => opened } });
    await Promise.all([pooled.reported("claimed"), plain.reported("claimed")]);
    open();
    await Promise.all([pooled.reported("done"), plain.reported("done")]);
    await Promise.all([pooled.worker.stop(), plain.worker.stop()]);
    expect(behind.at("warn")[0]).to.include("goes through a pooler").and.include("listen must be false");
    expect(direct.at("warn")).to.deep.equal([]);
    await pool.end();
  });

  it("enqueue() queues every job when ten connections share two server sessions", async () => {
    await using bench = await openBench(database.url);
    await using login = await openTestLogin({
      url: database.url,
      grants: [`grant all on ${bench.table.name} to login`],
    });
    await using bouncer = await pgBouncer.start(login.url, 2);
    const pool = openPool(bouncer.url, 10);
    const table = createJobTable({ db: pool, name: bench.table.name });
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: 20 }, () => table.enqueue({ task: "a" })));
    }
    expect(await bench.rows()).to.have.length(100);
    await pool.end();
  });
});
