import { mock } from "node:test";
import { testDatabase } from "@svc/dev-services";
import { createJobTable } from "@svc/job-table";
import {
  createScheduler,
  jobIdOf,
  type Pass,
  type Scheduler,
  type SchedulerEvent,
  type SchedulerOptions,
} from "@svc/scheduler";
import { collectingLogger, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { Pool } from "pg";
import { MINUTE_MS, minutes, NOON, openBench, openPool } from "./support/bench.ts";
import { type FakeDatabase, fakeDatabase } from "./support/fake-database.ts";

const beat = { everySeconds: 60, task: "beat" } as const;

function on(db: FakeDatabase, options: Partial<SchedulerOptions> = {}): Scheduler {
  return createScheduler({
    table: createJobTable({ db }),
    schedules: { beat },
    now: () => NOON,
    commandTimeoutMs: 30,
    ...options,
  });
}

const health = async (scheduler: Scheduler): Promise<string | undefined> =>
  (await scheduler.readiness().check(AbortSignal.timeout(10_000))).detail;

describe("a scheduler with faults", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "scheduler-faults" });

  it("continues with other schedules when the database rejects one, and retries the rejected one", async () => {
    await using bench = await openBench(database.url);
    await bench.pool.query(`create function refuse() returns trigger language plpgsql as
      $$ begin if new.task = 'bad' then raise 'no such task here'; end if; return new; end $$`);
    await bench.pool.query(
      `create trigger refuse before insert on ${bench.table.name} for each row execute function refuse()`,
    );
    const events: SchedulerEvent[] = [];
    const scheduler = bench.scheduler({
      schedules: { bad: { ...beat, task: "bad" }, good: beat, other: beat },
      onEvent: (event) => events.push(event),
    });
    await scheduler.runDue();
    bench.nowMs += MINUTE_MS;
    const { fired, failed } = await scheduler.runDue();
    expect(fired.map(({ name }) => name).sort()).to.deep.equal(["good", "other"]);
    expect(failed.map(({ name }) => name)).to.deep.equal(["bad"]);
    expect(events.filter(({ type }) => type === "failed")).to.have.lengthOf(1);
    // Claim and job are one statement, so the failed schedule has no claim.
    expect((await bench.claims()).map(({ name }) => name).sort()).to.deep.equal(["good", "other"]);
    await bench.pool.query(`drop trigger refuse on ${bench.table.name}`);
    bench.nowMs += 5000;
    expect((await scheduler.runDue()).fired.map(({ name }) => name)).to.deep.equal(["bad"]);
  });

  it("continues with other schedules when the name of a new one is too long for the table", async () => {
    await using bench = await openBench(database.url);
    await bench.pool.query(`alter table ${bench.ticks} alter name type varchar(8)`);
    const scheduler = bench.scheduler({ schedules: { "a name that is long": beat, beat } });
    expect((await scheduler.runDue()).failed.map(({ name }) => name)).to.deep.equal(["a name that is long"]);
    bench.nowMs += MINUTE_MS;
    expect((await scheduler.runDue()).fired.map(({ name }) => name)).to.deep.equal(["beat"]);
  });

  it("continues with other schedules while one waits for a lock, and limits this wait", async () => {
    await using bench = await openBench(database.url);
    // This deadline is long enough for statements that do not wait for a lock, even on a busy machine.
    const scheduler = bench.scheduler({ schedules: { stuck: beat, good: beat }, commandTimeoutMs: 3000 });
    await scheduler.runDue();
    bench.nowMs += MINUTE_MS;
    const holder = await bench.pool.connect();
    const id = jobIdOf("stuck", new Date(bench.nowMs).toISOString());
    await holder.query("begin");
    await holder.query(`insert into ${bench.table.name} (id, task) values ($1, 'held')`, [id]);
    const { fired, failed } = await scheduler.runDue();
    expect(fired.map(({ name }) => name)).to.deep.equal(["good"]);
    expect(failed.map(({ name, error }) => `${name} ${(error as { code: string }).code}`)).to.deep.equal([
      "stuck ERR_SVC_SQL_DEADLINE",
    ]);
    await holder.query("rollback");
    holder.release();
    await scheduler.runDue();
    // The server may have completed the timed-out statement, so the job exists once: queued by that statement or by the
    // retry.
    await until("the tick", async () => (await bench.claims()).length === 2);
    expect(await bench.jobs()).to.have.lengthOf(2);
  });

  for (const level of ["repeatable read", "serializable"]) {
    it(`reports no failure when another scheduler claims its tick, with ${level} as the default isolation`, async () => {
      await using bench = await openBench(database.url);
      const options = `-c default_transaction_isolation=${level.replace(" ", "\\ ")}`;
      const pool = new Pool({ connectionString: database.url, max: 2, options });
      const table = createJobTable({ db: pool, name: bench.table.name });
      const scheduler = bench.scheduler({ table, schedules: { beat } });
      const holder = await bench.pool.connect();
      const waits = async (): Promise<boolean> =>
        (
          await bench.pool.query(
            "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
          )
        ).rows.length > 0;
      const passes: Pass[] = [];
      for (const claimedAt of [NOON, NOON + MINUTE_MS]) {
        bench.nowMs = claimedAt;
        await holder.query("begin");
        await holder.query(
          `insert into ${bench.ticks} (name, fire_at, claimed_by, claimed_at) values ('beat', $1, 'other', now())`,
          [new Date(claimedAt)],
        );
        const pass = scheduler.runDue();
        await until("it waits for the other scheduler", waits);
        await holder.query("commit");
        passes.push(await pass);
      }
      holder.release();
      bench.nowMs += MINUTE_MS;
      passes.push(await scheduler.runDue());
      await pool.end();
      expect(passes.map(({ fired, failed }) => [fired.length, failed.length])).to.deep.equal([
        [0, 0],
        [0, 0],
        [1, 0],
      ]);
    });
  }

  it("fires and logs due ticks by the database's clock between start() and stop()", async () => {
    await using bench = await openBench(database.url);
    const logger = collectingLogger();
    const scheduler = bench.scheduler({
      schedules: { hourly: { everySeconds: 3600, task: "a" } },
      now: undefined,
      logger,
    });
    expect(await health(scheduler)).to.equal("not started");
    await scheduler.runDue();
    await bench.pool.query(`update ${bench.ticks} set fire_at = fire_at - interval '2 hours'`);
    scheduler.start();
    scheduler.start();
    await until("the job", async () => (await bench.jobs()).length === 1);
    expect(await health(scheduler)).to.equal("on time");
    expect(scheduler.readiness()).to.include({ name: "scheduler", critical: false });
    await scheduler.stop();
    expect(await health(scheduler)).to.equal("stopped");
    const [line] = logger.lines;
    expect(line).to.deep.include({ level: "info", message: "a tick was queued" });
    expect(line?.fields).to.include({ schedule: "hourly", task: "a" });
    expect((await rejection(() => scheduler.start())).message).to.include("cannot start again");
  });

  it("loses no tick when the server closes all connections", async () => {
    const pool = openPool(database.url, 2);
    await using bench = await openBench(database.url, pool);
    const scheduler = bench.scheduler({ schedules: { beat } });
    await scheduler.runDue();
    bench.nowMs += MINUTE_MS;
    const admin = openPool(database.url, 1);
    await admin.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
    await admin.end();
    const fired: number[] = [];
    let failures = 0;
    // Each connection of the pool may turn out to be broken once.
    for (let look = 0; look < 4; look++) {
      try {
        fired.push(...minutes((await scheduler.runDue()).fired));
      } catch {
        failures += 1;
      }
    }
    expect(failures).to.be.below(3);
    expect(fired).to.deep.equal([1]);
    expect(await bench.jobs()).to.have.lengthOf(1);
  });

  it("limits how long a hanging database delays a pass, the check and stop()", async () => {
    const db = fakeDatabase();
    db.fate.read = "hangs";
    const events: string[] = [];
    const logger = collectingLogger();
    const scheduler = on(db, { onEvent: ({ type }) => events.push(type), logger });
    expect(await rejection(scheduler.runDue())).to.include({ code: "ERR_SVC_SQL_DEADLINE" });
    scheduler.start();
    await until("the fault", () => events.length === 1);
    expect(events).to.deep.equal(["fault"]);
    expect(await health(scheduler)).to.equal("not answering (ERR_SVC_SQL_DEADLINE)");
    expect(logger.lines.map(({ level, message }) => `${level} ${message}`)).to.deep.equal([
      "error the scheduler cannot query its ticks",
    ]);
    await scheduler.stop();
    expect(db.sent.read).to.equal(2);
  });

  it("rejects queued statements when statements of many schedules hang", async () => {
    const db = fakeDatabase();
    db.fate.fire = "hangs";
    const names = Array.from({ length: 20 }, (_, n) => `s${n}`);
    for (const name of names) db.last.set(name, NOON - 2 * MINUTE_MS);
    const scheduler = on(db, { schedules: Object.fromEntries(names.map((name) => [name, beat])) });
    const { failed } = await scheduler.runDue();
    expect(failed.map(({ name }) => name).sort()).to.deep.equal(names.toSorted());
    expect(db.sent.fire).to.be.below(10);
    expect(failed.filter(({ error }) => String(error).includes("not sent"))).to.have.lengthOf(
      20 - db.sent.fire,
    );
  });

  it("does not retry a failing schedule on every pass over the other schedules", async () => {
    const db = fakeDatabase();
    db.fate.fire = "fails";
    db.last.set("beat", NOON - 2 * MINUTE_MS);
    const logger = collectingLogger();
    const scheduler = on(db, { logger });
    scheduler.start();
    await until("the look after the failure", () => db.sent.read === 2);
    expect(await health(scheduler)).to.equal("1 schedule(s) fail, beat among them");
    expect(logger.lines[0]?.fields).to.deep.equal({ schedule: "beat", reason: "Error" });
    await scheduler.stop();
    expect(db.sent.fire).to.equal(1);
  });

  it("ignores errors of listeners and loggers", async () => {
    const db = fakeDatabase();
    db.last.set("beat", NOON - 2 * MINUTE_MS);
    const fail = (): never => {
      throw new Error("no");
    };
    const scheduler = on(db, { onEvent: fail, logger: { info: fail, warn: fail, error: fail } });
    expect((await scheduler.runDue()).fired).to.have.lengthOf(1);
    db.last.set("beat", NOON - MINUTE_MS);
    const rejecting = on(db, { onEvent: () => Promise.reject(new Error("no")) as unknown as void });
    expect((await rejecting.runDue()).fired).to.have.lengthOf(1);
  });

  it("reports a failed deletion of old ticks, and still fires ticks", async () => {
    const db = fakeDatabase();
    db.fate.prune = "fails";
    db.last.set("beat", NOON - 2 * MINUTE_MS);
    const events: string[] = [];
    const { fired } = await on(db, { onEvent: ({ type }) => events.push(type) }).runDue();
    expect(fired).to.have.lengthOf(1);
    expect(events.sort()).to.deep.equal(["fault", "fired"]);
  });

  it("continues deleting in the next pass after a full batch was deleted", async () => {
    const db = fakeDatabase();
    db.old = 10_000;
    const scheduler = on(db);
    await scheduler.runDue();
    await scheduler.runDue();
    db.old = 9999;
    await scheduler.runDue();
    await scheduler.runDue();
    expect(db.sent.prune).to.equal(3);
  });

  it("accepts a table with timestamps beyond the range of Date", async () => {
    const db = fakeDatabase();
    for (const [name, last] of [
      ["a", Infinity],
      ["b", -Infinity],
      ["c", 8.64e17],
    ] as const)
      db.last.set(name, last);
    const schedules = { a: beat, b: { cron: "@daily", task: "b" }, c: { cron: "@daily", task: "c" } };
    const { fired } = await on(db, { schedules }).runDue();
    expect(fired.map(({ name, at }) => `${name} ${at}`)).to.deep.equal(["b 2026-01-05T00:00:00.000Z"]);
  });

  describe("between passes", () => {
    beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
    afterEach(() => mock.timers.reset());

    /** Advances the clock and runs all resulting callbacks. */
    async function pass(clock: { ms: number }, ms: number): Promise<void> {
      clock.ms += ms;
      mock.timers.tick(ms);
      for (let turn = 0; turn < 10; turn++) await new Promise<void>((resolve) => void setImmediate(resolve));
    }

    it("sleeps until the next tick but at most 30 s, and 5 s after an error", async () => {
      const clock = { ms: NOON };
      const db = fakeDatabase();
      const scheduler = on(db, { schedules: { soon: { everySeconds: 45, task: "a" } }, now: () => clock.ms });
      scheduler.start();
      await pass(clock, 0);
      const looks: number[] = [];
      const look = async (ms: number): Promise<void> => {
        await pass(clock, ms);
        looks.push(db.sent.read);
      };
      await look(29_999);
      await look(1);
      await look(15_000);
      await look(1);
      expect(looks).to.deep.equal([1, 2, 2, 3]);
      expect(db.sent.fire).to.equal(1);
      db.fate.read = "fails";
      await look(30_000);
      await look(4999);
      delete db.fate.read;
      await look(1);
      expect(looks.slice(4)).to.deep.equal([4, 4, 5]);
      await scheduler.stop();
    });

    it("reports each invalid time from now() as a fault, and recovers at the next valid one", async () => {
      const clock = { ms: NOON };
      const db = fakeDatabase();
      // The clock is read once in a pass, and once for the pause after it.
      const readings = [NOON, Number.NaN, Infinity, -1];
      const faults: string[] = [];
      const scheduler = on(db, {
        now: () => readings.shift() ?? clock.ms,
        onEvent: (event) => event.type === "fault" && faults.push(String(event.error)),
      });
      scheduler.start();
      for (const ms of [0, 5000, 5000]) await pass(clock, ms);
      expect(faults).to.deep.equal(
        ["NaN", "Infinity", "-1"].map(
          (shown) => `RangeError: now() must return milliseconds since the Unix epoch; it returned ${shown}`,
        ),
      );
      await pass(clock, 5000);
      expect(await health(scheduler)).to.equal("on time");
      await scheduler.stop();
      expect(() => on(db, { now: () => Number.NaN }).nextTicks()).to.throw(RangeError, "it returned NaN");
    });
  });
});
