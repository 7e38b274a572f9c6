import { currentContext, RequestContext, runWithContext } from "@svc/context";
import { createDatabase } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { createJobTable, createWorker, type JobContext, type WorkerOptions } from "@svc/job-table";
import { enableRowSecurity, type QueryResult, type Row } from "@svc/sql";
import { collectingLogger, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { optionsOf } from "../src/job-table.ts";
import { statsSql } from "../src/sql/operator.ts";
import { expire, openBench, openClient, openPool } from "./support/bench.ts";
import { overhear } from "./support/overhear.ts";
import { gate, work } from "./support/working.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const TRACEPARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`;

describe("createWorker", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-worker" });

  it("JOB-7 runs jobs, deletes them, and reports how long each job waited and ran", async () => {
    await using bench = await openBench(database.url);
    const seen: unknown[] = [];
    await bench.table.enqueueMany([1, 2, 3].map((n) => ({ id: `${n}`, task: "count", payload: { n } })));
    await using working = work(bench, {
      handlers: { count: ({ n }: { n: number }, { id }) => void seen.push([n, id]) },
    });
    await working.reported("done", 3);
    expect(seen).to.deep.equal([1, 2, 3].map((n) => [n, `${n}`]));
    expect(await bench.rows()).to.deep.equal([]);
    const [claimed, , done] = working.events;
    expect(claimed?.type === "claimed" && claimed.jobs[0]?.waitedMs).to.be.within(0, 60_000);
    expect(done?.type === "done" && done.durationMs).to.be.within(0, 60_000);
  });

  it("JOB-17 JOB-18 JOB-27 runs a handler in the job's context, and jobs that the handler queues inherit this context", async () => {
    await using bench = await openBench(database.url);
    const logger = collectingLogger();
    const trace = { traceparent: TRACEPARENT, tracestate: "a=1" };
    const jobs: JobContext[] = [];
    let context: ReturnType<typeof currentContext>;
    await bench.table.enqueue({ id: "parent", task: "a", requestId: "r-1", tenantId: "acme", trace });
    await using working = work(bench, {
      logger,
      handlers: {
        async a(_payload, job) {
          jobs.push(job);
          await Promise.resolve();
          context = currentContext();
          await bench.table.enqueue({ id: "child", task: "b", delaySeconds: 60 });
        },
      },
    });
    await working.reported("done");
    expect(context).to.include({ requestId: "r-1", tenantId: "acme" });
    expect(context?.trace).to.deep.equal({ traceId: TRACE_ID, ...trace });
    expect(jobs[0]).to.include({
      id: "parent",
      task: "a",
      attempts: 1,
      maxAttempts: 3,
      requestId: "r-1",
      tenantId: "acme",
    });
    expect((await bench.rows())[0]).to.deep.include({
      id: "child",
      request_id: "r-1",
      tenant_id: "acme",
      trace,
    });
    const line = logger.lines.find(({ message }) => message === "job done");
    expect(line?.fields).to.include({
      job_id: "parent",
      request_id: "r-1",
      trace_id: TRACE_ID,
      tenant_id: "acme",
    });
  });

  it("JOB-27 uses a job's own id as its request id if it has none, and drops a malformed trace", async () => {
    await using bench = await openBench(database.url);
    const contexts: ReturnType<typeof currentContext>[] = [];
    await bench.pool.query(
      `insert into ${bench.table.name} (id, task, request_id, trace) values ('1', 'a', null, '{"traceparent": "x"}'), ('2', 'a', $1, '7')`,
      ["no id\n"],
    );
    await using working = work(bench, { handlers: { a: () => void contexts.push(currentContext()) } });
    await working.reported("done", 2);
    expect(contexts[0]).to.include({ requestId: "1", trace: undefined, tenantId: undefined });
    expect(contexts[1]?.requestId).to.match(/^[0-9a-f]{32}$/);
    expect(contexts[1]?.trace).to.equal(undefined);
  });

  it("JOB-17 withTenant() in a handler sees only rows of the job's tenant", async () => {
    await using db = createDatabase({ url: database.url, logger: collectingLogger() });
    await db.query("create table notes (tenant_id text not null, text text not null)");
    await enableRowSecurity(db, { table: "notes" });
    const table = createJobTable({ db, name: "tenant_jobs" });
    await table.ensureSchema();
    for (const tenantId of ["acme", "umbrella"])
      await table.enqueue({ id: tenantId, task: "note", tenantId });
    const policies: unknown[] = [];
    await using worker = createWorker({
      table,
      handlers: {
        async note(_payload, { tenantId = "" }) {
          await db.withTenant(tenantId, async (tx) => {
            await tx.query("insert into notes values ($1, 'x')", [tenantId]);
            const { rows } = await tx.query("select current_setting('svc.tenant') as tenant");
            policies.push(rows[0]);
          });
        },
      },
    });
    worker.start();
    await until("both ran", async () => (await table.stats()).pending + (await table.stats()).running === 0);
    expect(policies).to.have.deep.members([{ tenant: "acme" }, { tenant: "umbrella" }]);
  });

  it("JOB-10 JOB-20 marks a job without a handler as dead immediately, even for names in Object.prototype", async () => {
    await using bench = await openBench(database.url);
    const logger = collectingLogger();
    await bench.table.enqueueMany(
      ["nobody", "toString", "__proto__", "a"].map((task) => ({ id: task, task })),
    );
    await using working = work(bench, { logger, handlers: { a: () => undefined } });
    await working.reported("dead", 3);
    await working.reported("done", 1);
    const dead = await bench.table.dead();
    expect(dead.map(({ id, attempts }) => `${id} ${attempts}`).toSorted()).to.deep.equal([
      "__proto__ 1",
      "nobody 1",
      "toString 1",
    ]);
    expect(dead.find(({ id }) => id === "nobody")?.lastError).to.equal(
      "JobError: there is no handler for the task nobody",
    );
    expect(logger.at("error")).to.include("job is dead");
  });

  it("JOB-8 JOB-9 JOB-13 stores a handler's error, and retries the job until it is dead", async () => {
    await using bench = await openBench(database.url);
    const logger = collectingLogger();
    const thrown: readonly unknown[] = ["a string", undefined, new Error("the third")];
    await bench.table.enqueue({ id: "x", task: "a" });
    await using working = work(bench, {
      logger,
      handlers: {
        a(_payload, { attempts }) {
          throw thrown[attempts - 1];
        },
      },
    });
    const errors: unknown[] = [];
    for (let attempt = 1; attempt <= 3; attempt++) {
      await working.reported(attempt < 3 ? "failed" : "dead", attempt < 3 ? attempt : 1);
      errors.push((await bench.rows())[0]?.last_error);
      await bench.pool.query(`update ${bench.table.name} set available_at = now() where status = 'pending'`);
    }
    expect(errors).to.deep.equal(["a string", "undefined was thrown", "Error: the third"]);
    expect((await bench.rows())[0]).to.include({ status: "dead", attempts: 3 });
    expect(logger.at("warn")).to.deep.equal(
      Array.from({ length: 2 }, () => "the job failed and will be retried"),
    );
  });

  it("JOB-23 JOB-26 claims as many jobs as there are free slots, 4 by default", async () => {
    await using bench = await openBench(database.url);
    const { opened, open } = gate();
    await bench.table.enqueueMany(Array.from({ length: 10 }, () => ({ task: "a" })));
    await using working = work(bench, { handlers: { a: () => opened } });
    await until("four run", () => working.worker.running === 4);
    expect(await bench.table.stats()).to.deep.equal({ pending: 6, running: 4, dead: 0 });
    open();
    await working.reported("done", 10);
    expect(await bench.rows()).to.deep.equal([]);
  });

  it("JOB-23 claims `prefetch` additional jobs, and releases them without counting the attempt when stopped", async () => {
    await using bench = await openBench(database.url);
    const { opened, open } = gate();
    await bench.table.enqueueMany(Array.from({ length: 10 }, () => ({ task: "a" })));
    await using working = work(bench, { concurrency: 2, prefetch: 3, handlers: { a: () => opened } });
    await until("two run", () => working.worker.running === 2);
    expect(await bench.table.stats()).to.include({ pending: 5, running: 5 });
    const stopping = working.worker.stop();
    await working.reported("released", 3);
    open();
    await stopping;
    expect(working.ids("done")).to.have.lengthOf(2);
    const rows = await bench.rows();
    expect(rows).to.have.lengthOf(8);
    expect(rows.every(({ status, attempts }) => status === "pending" && attempts === 0)).to.equal(true);
  });

  it("JOB-23 releases a buffered job when too little of its lease is left to run it", async () => {
    await using bench = await openBench(database.url, { visibilityTimeoutSeconds: 30 });
    const { opened, open } = gate();
    const begun: string[] = [];
    await bench.table.enqueueMany(["a", "b"].map((id) => ({ id, task: "a" })));
    await using working = work(bench, {
      concurrency: 1,
      prefetch: 1,
      jobTimeoutSeconds: 29.95,
      handlers: {
        a(_payload, { id }) {
          begun.push(id);
          return begun.length === 1 ? opened : undefined;
        },
      },
    });
    await working.reported("claimed", 2);
    await new Promise((resolve) => setTimeout(resolve, 200));
    open();
    await working.reported("done", 2);
    expect(working.ids("released").slice(0, 1)).to.deep.equal(["b"]);
    expect(begun).to.deep.equal(["a", "b"]);
  });

  it("JOB-16 JOB-22 JOB-25 runs jobs of lost workers again, and reports jobs as dead if that was their last attempt", async () => {
    await using bench = await openBench(database.url);
    await bench.table.enqueueMany([
      { id: "lost", task: "a" },
      { id: "killer", task: "a", maxAttempts: 1 },
    ]);
    await bench.table.claim(2);
    await expire(bench);
    const attempts: number[] = [];
    await using working = work(bench, {
      handlers: { a: (_payload, job) => void attempts.push(job.attempts) },
    });
    await working.reported("done");
    await working.reported("dead");
    expect(attempts).to.deep.equal([2]);
    expect(working.ids("dead")).to.deep.equal(["killer"]);
    await bench.table.enqueue({ id: "later", task: "a" });
    await working.reported("done", 2);
  });

  it("starts a queued job when notified, without waiting for the next poll", async () => {
    await using bench = await openBench(database.url);
    await using working = work(bench, { pollMs: 1000, handlers: { a: () => undefined } });
    await until("it listens", async () => {
      const { rows } = await bench.pool.query(
        "select from pg_stat_activity where query like '%listen%svc_job:%' or query like '%skip locked%'",
      );
      return rows.length > 1;
    });
    await using other = await openClient(database.url);
    const heard: string[] = [];
    other.on("notification", ({ channel }) => heard.push(channel));
    await other.query(`listen "svc_job:${bench.table.name}"`);
    const theirs = createJobTable({ db: bench.pool, name: bench.table.name });
    for (let n = 1; n <= 20; n++) {
      await theirs.enqueue({ task: "a" });
      await working.reported("done", n);
    }
    // After this response, the connection has received all earlier notifications.
    await other.query("select 1");
    // With polls alone, the twenty jobs would have taken twenty seconds.
    expect(heard.length).to.be.at.least(1);
  });

  it("polls with listen: false, on a pool and on a single connection", async () => {
    await using bench = await openBench(database.url, { notify: false });
    const pool = openPool(database.url);
    await using client = await openClient(database.url);
    const sent: string[] = [];
    pool.on("connect", (each) => overhear(each, sent));
    overhear(client, sent);
    for (const db of [pool, client]) {
      const table = createJobTable({ db, name: bench.table.name });
      await using working = work({ ...bench, table }, { listen: false, handlers: { a: () => undefined } });
      await working.reported("claimed", 0);
      await bench.table.enqueueMany(Array.from({ length: 20 }, () => ({ task: "a" })));
      await working.reported("done", 20);
      expect(sent.filter((text) => text.includes("skip locked"))).not.to.deep.equal([]);
      expect(sent.filter((text) => /\blisten\b/.test(text))).to.deep.equal([]);
      sent.length = 0;
    }
    {
      const table = createJobTable({ db: pool, name: bench.table.name });
      await using _listening = work({ ...bench, table }, { handlers: { a: () => undefined } });
      await until("one that may listen does", () => sent.some((text) => /\blisten\b/.test(text)));
    }
    await pool.end();
  });

  it("runs jobs with another driver's pool, which accepts only strings and emits no notifications", async () => {
    await using bench = await openBench(database.url);
    const seen: unknown[] = [];
    const other = {
      async connect() {
        const client = await bench.pool.connect();
        return {
          query<R extends Row>(text: string, values?: unknown[]): Promise<QueryResult<R>> {
            seen.push(typeof text);
            return client.query<R>(text, values);
          },
          release: () => client.release(),
        };
      },
    };
    const table = createJobTable({ db: other, name: bench.table.name });
    await using working = work({ ...bench, table }, { handlers: { a: () => undefined } });
    await table.enqueue({ task: "a" });
    await working.reported("done");
    await working.worker.stop();
    expect(new Set(seen)).to.deep.equal(new Set(["string"]));
  });

  it("calls `around` for every handler in the job's context; an `around` that skips the handler fails the job", async () => {
    await using bench = await openBench(database.url);
    const order: string[] = [];
    await bench.table.enqueueMany(["1", "2"].map((id) => ({ id, task: "a", requestId: "r" })));
    await using working = work(bench, {
      concurrency: 1,
      async around(job, run) {
        order.push(`before ${job.id} ${currentContext()?.requestId ?? ""}`);
        if (job.id === "1") await run();
        order.push(`after ${job.id}`);
      },
      handlers: { a: (_payload, { id }) => void order.push(`run ${id}`) },
    });
    await working.reported("failed");
    expect(order).to.deep.equal(["before 1 r", "run 1", "after 1", "before 2 r", "after 2"]);
    expect((await bench.rows())[0]?.last_error).to.equal("Error: around() has not called the handler");
  });

  it("TRACE-13 TRACE-20 runs a handler in a consumer span, and passes its trace on to the jobs that the handler enqueues", async () => {
    await using bench = await openBench(database.url);
    const own = {
      traceId: TRACE_ID,
      traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01`,
      tracestate: undefined,
    };
    const spans: unknown[] = [];
    const order: string[] = [];
    const trace = { traceparent: TRACEPARENT };
    const { id } = await bench.table.enqueue({ task: "a", trace });
    await using working = work(bench, {
      span(name, kind, attributes, run) {
        spans.push([name, kind, attributes, currentContext()?.trace?.traceparent]);
        order.push("span");
        return run({ set: () => undefined, trace: own });
      },
      around(_job, run) {
        order.push("around");
        return run();
      },
      handlers: {
        async a() {
          order.push("handler");
          await Promise.resolve();
          await bench.table.enqueue({ id: "child", task: "b", delaySeconds: 60 });
        },
      },
    });
    await working.reported("done");
    const attributes = {
      "messaging.system": "svc_jobs",
      "messaging.destination.name": bench.table.name,
      "messaging.message.id": id,
      "svc.job.attempts": 1,
    };
    expect(spans).to.deep.equal([["job a", "consumer", attributes, TRACEPARENT]]);
    expect(order).to.deep.equal(["span", "around", "handler"]);
    expect((await bench.rows())[0]?.trace).to.deep.equal({ traceparent: own.traceparent });
  });

  it("TRACE-21 runs a handler once if the span hook throws or does not call run(), and fails the job only if its handler fails", async () => {
    await using bench = await openBench(database.url);
    const runs: string[] = [];
    await bench.table.enqueueMany(
      ["before", "after", "never", "fails"].map((id) => ({ id, task: "a", maxAttempts: 1 })),
    );
    await using working = work(bench, {
      span(_name, _kind, { "messaging.message.id": id }, run) {
        if (id === "never") return undefined as never;
        if (id === "before") throw new Error("of the hook");
        const result = run({ set: () => undefined, trace: undefined });
        if (id === "after") throw new Error("of the hook");
        return result;
      },
      handlers: {
        a(_payload, { id }) {
          runs.push(id);
          if (id === "fails") throw new Error("of the handler");
        },
      },
    });
    await working.reported("dead");
    await working.reported("done", 3);
    expect(runs).to.have.members(["before", "after", "never", "fails"]);
    expect((await bench.rows()).map(({ id, last_error }) => [id, last_error])).to.deep.equal([
      ["fails", "Error: of the handler"],
    ]);
  });

  it("runs a handler only once if `around` calls it twice, and waits for a handler that `around` does not await", async () => {
    await using bench = await openBench(database.url);
    let runs = 0;
    await bench.table.enqueueMany([
      { id: "forgotten", task: "late", maxAttempts: 1 },
      { id: "thrown", task: "late", maxAttempts: 1 },
      { id: "twice", task: "count" },
    ]);
    await using working = work(bench, {
      async around({ id }, run) {
        const ran = run();
        if (id === "thrown") throw new Error("of around");
        if (id === "twice") await Promise.all([ran, run()]);
      },
      handlers: {
        async late() {
          await new Promise((resolve) => setTimeout(resolve, 20));
          throw new Error("late");
        },
        count: () => void runs++,
      },
    });
    await working.reported("dead", 2);
    await working.reported("done");
    expect(runs).to.equal(1);
    expect((await bench.rows()).map(({ id, last_error }) => [id, last_error])).to.have.deep.members([
      ["forgotten", "Error: late"],
      ["thrown", "Error: of around"],
    ]);
  });

  it("JOB-27 does not inherit the context of the request that started it", async () => {
    await using bench = await openBench(database.url);
    const seen: unknown[] = [];
    const context = new RequestContext({ requestId: "of-the-start", tenantId: "acme" });
    await using working = runWithContext(context, () =>
      work(bench, {
        onEvent: () => seen.push(currentContext()),
        depthEverySeconds: 0.01,
        handlers: { a: () => undefined },
      }),
    );
    await bench.table.enqueue({ task: "a" });
    await until("the depth was reported", () => seen.length >= 4);
    await working.worker.stop();
    expect(new Set(seen)).to.deep.equal(new Set([undefined]));
  });

  it("continues when its logger throws", async () => {
    await using bench = await openBench(database.url);
    const broken = (): void => {
      throw new Error("the log is closed");
    };
    const logger = { debug: broken, info: broken, warn: broken, error: broken, fatal: broken };
    await bench.table.enqueueMany([{ task: "a" }, { task: "nobody's" }]);
    await using working = work(bench, { logger, handlers: { a: () => undefined } });
    await working.reported("done");
    await working.reported("dead");
    expect(working.ids("fault")).to.deep.equal([]);
  });

  it("never runs two counts of the table at the same time, even when a count is slow", async () => {
    await using bench = await openBench(database.url);
    await using blocker = await openClient(database.url);
    await blocker.query(`begin; lock table ${bench.table.name} in access exclusive mode`);
    await using working = work(bench, { depthEverySeconds: 0.001, handlers: { a: () => undefined } });
    // A client without a transaction, because a transaction would see the sessions as they were at its first query.
    await using client = await openClient(database.url);
    await until("a count waits for the lock", async () => {
      const { rowCount } = await client.query(
        "select from pg_stat_activity where wait_event_type = 'Lock' and query = $1",
        [statsSql(optionsOf("test", bench.table).quotedTable)],
      );
      return rowCount !== null && rowCount > 0;
    });
    // The worker's timer, whose period is shorter, fires before each of these timers.
    for (let n = 0; n < 20; n++) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(bench.pool.waitingCount).to.equal(0);
    expect(bench.pool.totalCount).to.be.below(4);
    await blocker.query("commit");
    await working.reported("depth", 2);
  });

  it("reports the number of jobs, and continues when its listener throws", async () => {
    await using bench = await openBench(database.url);
    const logger = collectingLogger();
    const depths: unknown[] = [];
    await bench.table.enqueue({ task: "a", delaySeconds: 60 });
    await bench.table.enqueue({ id: "now", task: "a" });
    await using _working = work(bench, {
      depthEverySeconds: 0.02,
      logger,
      onEvent(event) {
        if (event.type === "depth") depths.push(event.stats);
        throw new Error("no");
      },
      handlers: { a: () => undefined },
    });
    await until("it is done", async () => (await bench.rows()).length === 1);
    await until("its depth", () =>
      depths.some((stats) => JSON.stringify(stats) === '{"pending":1,"running":0,"dead":0}'),
    );
    expect(logger.at("warn")).to.deep.equal(["a worker event listener threw an error"]);
  });

  it("continues when an async listener rejects, and when the default isolation level is strict", async () => {
    await using bench = await openBench(database.url);
    const logger = collectingLogger();
    const { pathname } = new URL(database.url);
    await bench.pool.query(
      `alter database ${pathname.slice(1)} set default_transaction_isolation = 'serializable'`,
    );
    try {
      await bench.table.enqueueMany(Array.from({ length: 200 }, () => ({ task: "a" })));
      const handlers = { a: () => undefined };
      const faults: unknown[] = [];
      await using a = work(bench, {
        handlers,
        logger,
        onEvent: () => Promise.reject(new Error("no")) as never,
      });
      await using _b = work(bench, {
        handlers,
        onEvent: (event) => void (event.type === "fault" && faults.push(event.error)),
      });
      await until("all are done", async () => (await bench.rows()).length === 0);
      await a.worker.stop();
      expect(faults).to.deep.equal([]);
      expect(logger.at("warn")).to.deep.equal(["a worker event listener threw an error"]);
      expect(logger.at("error")).to.deep.equal([]);
    } finally {
      await bench.pool.query(`alter database ${pathname.slice(1)} reset default_transaction_isolation`);
    }
  });

  it("JOB-20 warns only about workers with different handlers for its table", async () => {
    await using bench = await openBench(database.url);
    const logger = collectingLogger();
    const quiet = collectingLogger();
    const b = (): void => undefined;
    await using first = work(bench, { logger, handlers: { b, "it's \\ a": b } });
    await bench.table.enqueue({ task: "b" });
    await first.reported("done");
    await using alike = work(bench, { logger: quiet, handlers: { "it's \\ a": b, b } });
    let queued = 1;
    await until("both have worked", async () => {
      await bench.table.enqueue({ task: "b" });
      queued += 1;
      return alike.ids("done").length > 0;
    });
    await until("all are done", () => first.ids("done").length + alike.ids("done").length === queued);
    expect(logger.at("warn")).to.deep.equal([]);
    await using other = work(bench, { handlers: { c: b } });
    await until("both were warned", () => logger.at("warn").length === 1 && quiet.at("warn").length === 1);
    expect(logger.at("warn")[0]).to.include("another worker of this table has different handlers");
    expect(logger.texts.at(-1)).to.include(JSON.stringify({ others: '["c"]' }).slice(1, -1));
    expect(other.ids("fault")).to.deep.equal([]);
  });

  it("shares a table with another worker, and each job runs once", async () => {
    await using bench = await openBench(database.url);
    const other = openPool(database.url);
    const seen: string[] = [];
    // The first worker waits until the second has started a job too.
    const begun = new Set<string>();
    const { opened, open } = gate();
    const handlersOf = (worker: string) => ({
      async a(_payload: unknown, { id }: JobContext): Promise<void> {
        begun.add(worker);
        if (begun.size === 2) open();
        await opened;
        seen.push(id);
      },
    });
    await bench.table.enqueueMany(Array.from({ length: 3000 }, () => ({ task: "a" })));
    const table = createJobTable({ db: other, name: bench.table.name });
    await using a = work(bench, { concurrency: 10, handlers: handlersOf("a") });
    await using b = work({ ...bench, table }, { concurrency: 50, prefetch: 100, handlers: handlersOf("b") });
    await until("all are done", () => a.ids("done").length + b.ids("done").length === 3000, 30_000);
    expect(new Set(seen).size).to.equal(3000);
    expect(seen).to.have.lengthOf(3000);
    expect(a.ids("done"), "both took part").not.to.have.lengthOf(0);
    expect(b.ids("done")).not.to.have.lengthOf(0);
    expect(await bench.rows()).to.deep.equal([]);
    await b.worker.stop();
    await other.end();
  });

  const fine = { handlers: { a: () => undefined } };
  const wrong: readonly (readonly [object, string])[] = [
    [{ handlers: {} }, "handlers: must contain at least one handler"],
    [{ handlers: { a: 1 } }, 'handlers: the handler of "a" must be a function'],
    [{ handlers: undefined }, "handlers: is required"],
    [{ ...fine, table: {} }, "table: must be a job table"],
    [
      { ...fine, table: { claim() {}, ack() {}, fail() {}, release() {} } },
      "table: must be a table returned by createJobTable()",
    ],
    [{ ...fine, concurrency: 0 }, "concurrency: must be a whole number from 1 to 1000"],
    [{ ...fine, prefetch: -1 }, "prefetch: must be a whole number from 0"],
    [
      { ...fine, jobTimeoutSeconds: 300 },
      "jobTimeoutSeconds: must be less than the visibility timeout of the table, 300",
    ],
    [{ ...fine, pollMs: 2000 }, "pollMs: must be a whole number from 10 to 1000"],
    [{ ...fine, onEvent: 1 }, "onEvent: must be a function"],
    [{ ...fine, concurency: 1 }, "concurency: is unknown; did you mean concurrency?"],
  ];
  for (const [options, message] of wrong) {
    it(`JOB-26 rejects ${JSON.stringify(options)} (${message})`, async () => {
      const table = createJobTable({ db: { query: () => Promise.resolve({ rows: [] }) } });
      const error = await rejection(() => createWorker({ table, ...options } as WorkerOptions));
      expect(error).to.include({ code: "ERR_SVC_CONFIGURATION" });
      expect(error.message).to.include(message);
    });
  }
});
