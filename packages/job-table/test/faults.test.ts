import { openTestLogin, testDatabase, testPostgresServer } from "@svc/dev-services";
import { createJobTable } from "@svc/job-table";
import { collectingLogger, until } from "@svc/test-support";
import { expect } from "chai";
import { openBench, openClient, openPool } from "./support/bench.ts";
import { gate, work } from "./support/working.ts";

describe("a worker whose database fails", function () {
  this.timeout(120_000);

  describe("when single statements fail", () => {
    const database = testDatabase({ name: "job-faults" });

    for (const [prefetch, how] of [
      [0, ""],
      [60, ", with prefetch and a second connection for outcomes"],
    ] as const) {
      it(`continues when its connections are closed repeatedly, and loses no job${how}`, async () => {
        await using bench = await openBench(database.url, { visibilityTimeoutSeconds: 2 });
        const starts = new Map<string, number>();
        await bench.table.enqueueMany(
          Array.from({ length: 400 }, (_, n) => ({ id: `${n}`, task: "a", maxAttempts: 9 })),
        );
        await using working = work(bench, {
          concurrency: 20,
          prefetch,
          handlers: {
            async a(_payload, { id }) {
              starts.set(id, (starts.get(id) ?? 0) + 1);
              await new Promise((resolve) => setTimeout(resolve, 5));
            },
          },
        });
        for (let round = 0; round < 5; round++) {
          await working.reported("claimed", 40 * (round + 1));
          await bench.pool.query(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
          );
        }
        // Jobs of a claim whose response was lost become due again when their leases expire.
        await until("all ended", async () => (await bench.rows()).length === 0, 60_000);
        expect(starts.size).to.equal(400);
      });
    }

    it("retries with pauses while its table is missing, and logs the failure once", async () => {
      const pool = openPool(database.url);
      const logger = collectingLogger();
      const table = createJobTable({ db: pool, name: "later" });
      const bench = await openBench(database.url);
      await using working = work({ ...bench, table }, { logger, handlers: { a: () => undefined } });
      await working.reported("fault", 3);
      expect(working.worker.readiness().check(new AbortController().signal)).to.include({
        healthy: false,
        detail: "the job table does not answer",
      });
      expect(working.ids("fault").length).to.be.below(30);
      expect(logger.at("error")).to.deep.equal(["the job table does not answer"]);
      expect(logger.texts[0]).to.include("SQLSTATE 42P01");
      await table.ensureSchema();
      await table.enqueue({ task: "a" });
      await working.reported("done");
      expect(logger.at("info")).to.include("the job table answers again");
      await working.worker.stop();
      await bench.pool.end();
      await pool.end();
    });

    it("retries while the server accepts no more connections, and continues afterwards", async () => {
      await using bench = await openBench(database.url);
      await using login = await openTestLogin({
        url: database.url,
        attributes: "connection limit 3",
        grants: [`grant all on ${bench.table.name} to login`],
      });
      const others = await Promise.all([1, 2, 3].map(() => openClient(login.url)));
      const pool = openPool(login.url);
      const table = createJobTable({ db: pool, name: bench.table.name });
      const working = work({ ...bench, table }, { handlers: { a: () => undefined } });
      await working.reported("fault", 2);
      const faults = working.events.flatMap((event) => (event.type === "fault" ? [event.error] : []));
      expect(faults[0]).to.include({ code: "53300" });
      expect(await table.readiness().check(new AbortController().signal)).to.deep.equal({
        healthy: false,
        detail: "not answering (SQLSTATE 53300)",
      });
      await Promise.all(others.map((each) => each.end()));
      await bench.table.enqueue({ task: "a" });
      await working.reported("done");
      await working.worker.stop();
      await pool.end();
      expect(await bench.rows()).to.deep.equal([]);
    });

    it("retries while the server is read-only, and continues afterwards", async () => {
      await using bench = await openBench(database.url);
      await using admin = await openClient(database.url);
      // Commit before terminating: a session that reconnects before the commit would get the old setting.
      const readOnly = async (yes: boolean): Promise<void> => {
        await admin.query(`do $$ begin
          execute format('alter database %I set default_transaction_read_only = ${yes ? "on" : "off"}', current_database());
        end $$`);
        await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`);
      };
      const { opened, open } = gate();
      await bench.table.enqueue({ id: "under way", task: "a" });
      await using working = work(bench, { handlers: { a: () => opened } });
      await until("it runs", () => working.worker.running === 1);
      await readOnly(true);
      open();
      await until("the worker reports the fault", () =>
        working.events.some(
          (event) => event.type === "fault" && (event.error as { code?: unknown }).code === "25006",
        ),
      );
      await readOnly(false);
      await working.reported("done");
      await bench.table.enqueue({ task: "a" });
      await working.reported("done", 2);
      expect(await bench.rows()).to.deep.equal([]);
    });

    it("abandons a statement at its deadline, and runs the job later", async () => {
      await using bench = await openBench(database.url);
      await bench.table.enqueue({ task: "a" });
      const blocker = await bench.pool.connect();
      await blocker.query(`begin; lock table ${bench.table.name} in access exclusive mode`);
      await using working = work(bench, { commandTimeoutMs: 3000, handlers: { a: () => undefined } });
      await working.reported("fault", 2);
      await blocker.query("rollback");
      blocker.release();
      await working.reported("done");
      expect(await bench.rows()).to.deep.equal([]);
    });
  });

  for (const kind of ["pool", "single connection"] as const) {
    describe(`when single statements fail, on a ${kind} without LISTEN`, () => {
      const database = testDatabase({ name: "job-faults" });

      it("runs every job after claims timed out, and leaves no request for a connection waiting", async () => {
        await using bench = await openBench(database.url);
        await using client = await openClient(database.url);
        const few = openPool(database.url, 2);
        const table = createJobTable({ db: kind === "pool" ? few : client, name: bench.table.name });
        await bench.table.enqueueMany(Array.from({ length: 20 }, () => ({ task: "a" })));
        const blocker = await bench.pool.connect();
        await blocker.query(`begin; lock table ${bench.table.name} in access exclusive mode`);
        await using working = work(
          { ...bench, table },
          { listen: false, commandTimeoutMs: 2000, handlers: { a: () => undefined } },
        );
        await working.reported("fault", 4);
        expect(few.waitingCount).to.equal(0);
        await blocker.query("rollback");
        blocker.release();
        await working.reported("done", 20);
        await working.worker.stop();
        await few.end();
        expect(await bench.rows()).to.deep.equal([]);
      });
    });
  }

  describe("when the server stops", () => {
    const postgres = testPostgresServer();

    it("records outcomes after a restart, and resolves stop() while the server is down", async () => {
      await using bench = await openBench(postgres.url);
      const { opened, open } = gate();
      await bench.table.enqueueMany(["1", "2"].map((id) => ({ id, task: "a" })));
      await using working = work(bench, { handlers: { a: () => opened } });
      await until("both run", () => working.worker.running === 2);
      await postgres.server.halt();
      open();
      await working.reported("fault", 2);
      await postgres.server.restart();
      await working.reported("done", 2);
      expect(await bench.rows()).to.deep.equal([]);
      await bench.table.enqueue({ task: "a" });
      await working.reported("done", 3);
      await postgres.server.halt();
      await working.worker.stop();
      expect(working.worker.running).to.equal(0);
      await postgres.server.restart();
    });
  });
});
