import { testDatabase } from "@svc/dev-services";
import { createJobTable, createWorker, type JobTable } from "@svc/job-table";
import { defineRollup } from "@svc/rollups";
import { withTransaction } from "@svc/sql";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { EXPENSES, type Expenses, openClient, openExpenses } from "./support/expenses.ts";

describe("enqueueRefresh() and its jobs", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "rollup jobs" });
  const at = "2026-03-10T12:00:00Z";
  let made = 0;

  async function queue({ pool }: Expenses): Promise<JobTable> {
    made += 1;
    const jobs = createJobTable({ db: pool, name: `jobs_${made}` });
    await jobs.ensureSchema();
    return jobs;
  }

  async function change(
    { pool, rollup, source }: Expenses,
    jobs: JobTable,
    tenant = "acme",
  ): Promise<boolean> {
    return withTransaction(pool, async (tx) => {
      const text = `insert into ${source} (tenant_id, spent_at, category, amount) values ($1, $2, 'food', 1)`;
      await tx.query(text, [tenant, at]);
      return (await rollup.enqueueRefresh(jobs, { tenant, at }, { tx })).enqueued;
    });
  }

  /** Claims and handles one job as a worker would. Returns a function that acknowledges the job. */
  async function run(each: Expenses, jobs: JobTable): Promise<() => Promise<unknown>> {
    const [job] = await jobs.claim(1);
    if (job === undefined) throw new Error("there is no job");
    const [handler] = Object.values(each.rollup.handlers(each.pool));
    await handler?.(job.payload, job);
    return () => jobs.ack(job);
  }

  const counts = async (each: Expenses): Promise<unknown[]> => (await each.totals()).map(({ n }) => n);

  it("ROLL-2 keep at most one pending job per bucket, queued in the transaction that writes the rows", async () => {
    await using each = await openExpenses(database.url);
    const jobs = await queue(each);
    expect(await Promise.all([1, 2, 3, 4].map(() => change(each, jobs)))).to.have.members([
      true,
      false,
      false,
      false,
    ]);
    expect(await change(each, jobs, "globex")).to.equal(true);
    const failed = withTransaction(each.pool, async (tx) => {
      await each.rollup.enqueueRefresh(jobs, { tenant: "acme", at: "2026-05-10T12:00:00Z" }, { tx });
      throw new Error("later");
    });
    await rejection(failed);
    expect(await jobs.stats()).to.deep.equal({ pending: 2, running: 0, dead: 0 });
    const done: unknown[] = [];
    const worker = createWorker({ table: jobs, handlers: each.rollup.handlers(each.pool), pollMs: 10 });
    worker.start();
    while (
      (await counts(each)).length < 2 ||
      (await jobs.stats()).pending + (await jobs.stats()).running > 0
    ) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await worker.stop();
    done.push(...(await counts(each)));
    expect(done).to.deep.equal([4, 1]);
  });

  it("ROLL-2 queue several buckets in a fixed order, regardless of the order of the instants", async () => {
    await using each = await openExpenses(database.url);
    const jobs = await queue(each);
    const [first, second] = [
      { tenant: "acme", at },
      { tenant: "acme", at: "2026-05-10T12:00:00Z" },
    ];
    const seen: string[][] = [];
    const spied = {
      enqueue: (...given: Parameters<JobTable["enqueue"]>) => {
        seen.at(-1)?.push((given[0].payload as { at: string }).at);
        return jobs.enqueue(...given);
      },
    };
    const reported = async (moments: readonly (typeof first)[]): Promise<boolean[]> =>
      withTransaction(each.pool, async (tx) => {
        seen.push([]);
        const queued = await each.rollup.enqueueRefreshMany(spied, moments, { tx });
        return queued.map(({ enqueued }) => enqueued);
      });
    expect(await reported([second, first, second])).to.deep.equal([true, true]);
    expect(await reported([first, second])).to.deep.equal([false, false]);
    expect(await reported([])).to.deep.equal([]);
    // The first instants of March and May in Berlin.
    const order = ["2026-02-28T23:00:00.000Z", "2026-04-30T22:00:00.000Z"];
    expect(seen).to.deep.equal([order, order, []]);
    await each.add("acme", second.at, "food", 1);
    for (let n = 0; n < 2; n++) await (await run(each, jobs))();
    expect(await counts(each)).to.deep.equal([1]);
  });

  it("ROLL-2 refresh a bucket again after a change that commits while its job is running", async () => {
    await using each = await openExpenses(database.url);
    const jobs = await queue(each);
    expect(await change(each, jobs)).to.equal(true);
    const end = await run(each, jobs);
    // The job has read the rows, but is not acknowledged yet.
    expect(await change(each, jobs)).to.equal(true);
    expect(await change(each, jobs)).to.equal(false);
    expect(await jobs.stats()).to.deep.equal({ pending: 1, running: 1, dead: 0 });
    await end();
    await (
      await run(each, jobs)
    )();
    expect(await counts(each)).to.deep.equal([3]);
    expect(await jobs.stats()).to.deep.equal({ pending: 0, running: 0, dead: 0 });
  });

  it("ROLL-3 make a job wait until a writer that relies on it has committed", async () => {
    await using each = await openExpenses(database.url);
    const jobs = await queue(each);
    await change(each, jobs);
    await using late = await openClient(database.url);
    await late.query("begin");
    await late.query(`insert into ${each.source} (tenant_id, spent_at, amount) values ('acme', '${at}', 1)`);
    expect(await each.rollup.enqueueRefresh(jobs, { tenant: "acme", at }, { tx: late })).to.include({
      enqueued: false,
    });
    const running = run(each, jobs);
    const waits = `select count(*)::int as n from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`;
    while ((await each.pool.query<{ n: number }>(waits)).rows[0]?.n === 0)
      await new Promise((done) => setTimeout(done, 5));
    await late.query("commit");
    await (
      await running
    )();
    expect(await counts(each)).to.deep.equal([1, 1]);
  });

  it("ROLL-2 include every change of many concurrent writers in the totals", async () => {
    await using each = await openExpenses(database.url);
    const jobs = await queue(each);
    const worker = createWorker({ table: jobs, handlers: each.rollup.handlers(each.pool), concurrency: 3 });
    worker.start();
    const writer = async (): Promise<void> => {
      for (let index = 0; index < 10; index++) await change(each, jobs);
    };
    await Promise.all([1, 2, 3, 4].map(writer));
    for (let left = 1; left > 0;) {
      const { pending, running, dead } = await jobs.stats();
      expect(dead).to.equal(0);
      left = pending + running;
    }
    await worker.stop();
    expect(await counts(each)).to.deep.equal([40]);
  });

  it("queue a new job when the existing job is dead or on its last attempt", async () => {
    await using each = await openExpenses(database.url);
    const jobs = await queue(each);
    await change(each, jobs);
    await each.add("acme", at, "x".repeat(65), 1);
    const [handler] = Object.values(each.rollup.handlers(each.pool));
    for (let attempt = 1; attempt <= 3; attempt++) {
      await each.pool.query(`update ${jobs.name} set available_at = now() - interval '1 second'`);
      const [job] = await jobs.claim(1);
      if (job === undefined) throw new Error("there is no job");
      const error = await rejection(handler?.(job.payload, job) ?? Promise.resolve());
      expect(error).to.have.property("code", "ERR_SVC_ROLLUP_GROUP");
      if (attempt < 3) expect(await change(each, jobs)).to.equal(false);
      await jobs.fail(job, error);
    }
    expect(await change(each, jobs)).to.equal(true);
    expect(await jobs.stats()).to.deep.equal({ pending: 1, running: 0, dead: 1 });
  });

  it("retry a dead job that never read its bucket", async () => {
    await using each = await openExpenses(database.url);
    const jobs = await queue(each);
    expect(await change(each, jobs)).to.equal(true);
    for (const expected of [true, false]) {
      if (expected) {
        const [job] = await jobs.claim(1);
        if (job === undefined) throw new Error("there is no job");
        await jobs.fail(job, new Error("there is no handler"), { dead: true });
      }
      expect(await change(each, jobs)).to.equal(expected);
      expect(await jobs.stats()).to.deep.equal({ pending: 1, running: 0, dead: 0 });
    }
    await run(each, jobs);
    expect(await counts(each)).to.deep.equal([3]);
  });

  it("ROLL-4 queue a separate job for each time zone, because months differ between zones", async () => {
    await using each = await openExpenses(database.url);
    const jobs = await queue(each);
    await change(each, jobs);
    const source = { ...EXPENSES.source, table: each.source };
    const moved = defineRollup({ ...EXPENSES, name: each.rollup.name, source, timeZone: "UTC" });
    const queued = withTransaction(each.pool, (tx) =>
      moved.enqueueRefresh(jobs, { tenant: "acme", at }, { tx }),
    );
    expect(await queued).to.include({ enqueued: true });
  });

  it("always queue a new job without a transaction or outside READ COMMITTED", async () => {
    await using each = await openExpenses(database.url);
    const jobs = await queue(each);
    const moment = { tenant: "acme", at: new Date(at) };
    const isolation = "repeatable read";
    expect(await each.rollup.enqueueRefresh(jobs, moment)).to.include({ enqueued: true });
    expect(await each.rollup.enqueueRefresh(jobs, moment)).to.include({ enqueued: true });
    await withTransaction(each.pool, (tx) => each.rollup.enqueueRefresh(jobs, moment, { tx }));
    await withTransaction(each.pool, (tx) => each.rollup.enqueueRefresh(jobs, moment, { tx }), { isolation });
    expect((await jobs.stats()).pending).to.equal(4);
    const [job] = await jobs.claim(1);
    expect(job).to.include({ task: `rollup.refresh.${each.rollup.name}`, tenantId: "acme" });
    expect(job?.payload).to.deep.equal({ tenant: "acme", at: "2026-03-10T12:00:00.000Z" });
  });

  it("reject an invalid transaction, instant or payload", async () => {
    await using each = await openExpenses(database.url);
    const jobs = await queue(each);
    await using client = await openClient(database.url);
    const moment = { tenant: "acme", at };
    for (const tx of [each.pool, client]) {
      const error = await rejection(each.rollup.enqueueRefresh(jobs, moment, { tx }));
      expect(error).to.have.property("code", "ERR_SVC_ROLLUP_TRANSACTION");
    }
    const naive = await rejection(each.rollup.enqueueRefresh(jobs, { tenant: "acme", at: "2026-03-10" }));
    expect(naive).to.have.property("code", "ERR_SVC_ROLLUP_ARGUMENT");
    const misplaced = await rejection(each.rollup.enqueueRefresh(jobs, moment, client as object));
    expect(misplaced).to.have.property("code", "ERR_SVC_ROLLUP_ARGUMENT");
    const [handler] = Object.values(each.rollup.handlers(each.pool));
    for (const payload of [null, {}, { tenant: "acme", at: 5 }, { tenant: 1, at }]) {
      const error = await rejection(handler?.(payload, { attempts: 1, maxAttempts: 3 }) ?? Promise.resolve());
      expect(error).to.have.property("code", "ERR_SVC_ROLLUP_ARGUMENT");
    }
    expect((await jobs.stats()).pending).to.equal(0);
  });
});
