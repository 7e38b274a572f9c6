import { testDatabase } from "@svc/dev-services";
import { createJobTable, createWorker, type JobContext } from "@svc/job-table";
import type { QueryResult, Row } from "@svc/sql";
import { collectingLogger, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { expire, openBench, openPool } from "./support/bench.ts";
import { settledWithin } from "../src/worker/worker.ts";
import { gate, work } from "./support/working.ts";

/** Rejects with the signal's reason when the signal is aborted. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

describe("a worker that stops", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-stop" });

  it("JOB-11 waits for running jobs, and claims no further jobs", async () => {
    await using bench = await openBench(database.url);
    const { opened, open } = gate();
    await bench.table.enqueueMany(Array.from({ length: 6 }, () => ({ task: "a" })));
    await using working = work(bench, { handlers: { a: () => opened } });
    await until("four run", () => working.worker.running === 4);
    const stopping = working.worker.stop();
    open();
    await stopping;
    expect(working.ids("done")).to.have.lengthOf(4);
    expect((await bench.rows()).map(({ status, attempts }) => [status, attempts])).to.deep.equal([
      ["pending", 0],
      ["pending", 0],
    ]);
    expect(await bench.pool.query("select 1"), "the pool is the caller's").to.have.property("rowCount", 1);
    expect(() => working.worker.start()).to.throw("a stopped worker cannot start again");
  });

  it("JOB-11 aborts and releases running jobs at the end of drainSeconds", async () => {
    await using bench = await openBench(database.url);
    const reasons: unknown[] = [];
    const tasks = ["heeds", "throws", "ignores", "finishes"];
    await bench.table.enqueueMany(tasks.map((id) => ({ id, task: id })));
    await using working = work(bench, {
      drainSeconds: 0.05,
      handlers: {
        heeds: (_payload, { signal }) =>
          aborted(signal).catch((error: unknown) => {
            reasons.push(error);
            throw error;
          }),
        throws: (_payload, { signal }) =>
          aborted(signal).catch(() => {
            throw new Error("while it stops");
          }),
        ignores: () => new Promise(() => undefined),
        finishes: (_payload, { signal }) => aborted(signal).catch(() => "saved in time"),
      },
    });
    await until("all run", () => working.worker.running === 4);
    await working.worker.stop();
    expect(reasons[0]).to.include({ code: "ERR_SVC_JOB_STOPPED" });
    expect(working.ids("done")).to.deep.equal(["finishes"]);
    expect(working.ids("released").toSorted()).to.deep.equal(["heeds", "ignores", "throws"]);
    const rows = await bench.rows();
    expect(
      rows.every(
        ({ status, attempts, last_error }) => status === "pending" && attempts === 0 && last_error === null,
      ),
    ).to.equal(true);
    expect(rows).to.have.lengthOf(3);
  });

  it("JOB-11 JOB-26 releases jobs immediately at the second stop(), although 25 s of the drain time are left", async () => {
    await using bench = await openBench(database.url);
    await bench.table.enqueue({ task: "a" });
    const worker = createWorker({ table: bench.table, handlers: { a: () => new Promise(() => undefined) } });
    worker.start();
    await until("it runs", () => worker.running === 1);
    const first = worker.stop();
    const began = performance.now();
    await worker.stop();
    await first;
    expect(performance.now() - began).to.be.below(20_000);
    expect((await bench.rows())[0]).to.include({ status: "pending", attempts: 0 });
  });

  it("JOB-11 either finishes each of 200 running jobs or releases it without counting the attempt", async () => {
    await using bench = await openBench(database.url);
    for (let round = 0; round < 5; round++) {
      // Earlier rounds may have finished all their jobs.
      await bench.table.enqueueMany(Array.from({ length: 300 }, (_, n) => ({ task: "a", payload: n })));
      const working = work(bench, {
        concurrency: 200,
        prefetch: 20,
        drainSeconds: 0.02,
        handlers: {
          async a(n: number, { signal }) {
            if (n % 3 === round % 3) await new Promise((resolve) => setTimeout(resolve, n % 20));
            else await aborted(signal);
          },
        },
      });
      await working.reported("claimed", 1);
      await working.worker.stop();
      const rows = await bench.rows();
      expect(rows.filter(({ status, attempts }) => status !== "pending" || attempts !== 0)).to.deep.equal([]);
    }
    expect((await bench.rows()).length).to.be.below(1500);
  });

  it("JOB-11 releases jobs from a claim that returns during the stop", async () => {
    await using bench = await openBench(database.url);
    const landing = gate();
    let held = 0;
    const slow = {
      async query<R extends Row>(text: string, values?: unknown[]): Promise<QueryResult<R>> {
        const answer = await bench.pool.query<R>(text, values);
        // Delay only the claim that finds the job, because a claim may run before the job is queued.
        if (text.includes("skip locked") && answer.rows.some(({ id }) => id === "x")) {
          held += 1;
          await landing.opened;
        }
        return answer;
      },
    };
    const table = createJobTable({ db: slow, name: bench.table.name });
    await using working = work({ ...bench, table }, { handlers: { a: () => undefined } });
    await bench.table.enqueue({ id: "x", task: "a" });
    await until("it is claimed", () => held === 1);
    const stopping = working.worker.stop();
    landing.open();
    await stopping;
    expect(working.ids("released")).to.deep.equal(["x"]);
    expect((await bench.rows())[0]).to.include({ status: "pending", attempts: 0 });
  });

  it("can be stopped twice or without a start, and its check reports that it stopped", async () => {
    await using bench = await openBench(database.url);
    const worker = createWorker({ table: bench.table, handlers: { a: () => undefined } });
    const check = worker.readiness();
    const signal = new AbortController().signal;
    expect(check).to.include({ name: "worker", critical: false });
    expect(await check.check(signal)).to.include({ healthy: false, detail: "not started" });
    worker.start();
    worker.start();
    expect(await check.check(signal)).to.deep.equal({
      healthy: true,
      detail: "working",
      meta: { running: 0 },
    });
    await worker.stop();
    await worker.stop();
    expect(await check.check(signal)).to.include({ healthy: false, detail: "stopped" });
    const idle = createWorker({ table: bench.table, handlers: { a: () => undefined } });
    await idle.stop();
    expect((await rejection(() => idle.start())).message).to.include("create a new one");
  });

  it("leaves no connection in use after the worker has stopped", async () => {
    const pool = openPool(database.url);
    const table = createJobTable({ db: pool, name: "none" });
    await table.ensureSchema();
    const worker = createWorker({ table, handlers: { a: () => undefined } });
    worker.start();
    await table.enqueue({ task: "a" });
    await until("it is done", async () => (await pool.query("select from none")).rowCount === 0);
    await worker.stop();
    expect(pool.totalCount - pool.idleCount, "every connection was given back").to.equal(0);
    await pool.end();
  });
});

describe("a job that takes too long", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-timeout" });

  it("JOB-19 is aborted with a reason, and fails", async () => {
    await using bench = await openBench(database.url);
    let reason: unknown;
    await bench.table.enqueue({ task: "a" });
    await using working = work(bench, {
      jobTimeoutSeconds: 0.05,
      handlers: {
        a: (_payload, { signal }) =>
          aborted(signal).catch((error: unknown) => {
            reason = error;
            throw error;
          }),
      },
    });
    await working.reported("failed");
    expect(reason).to.include({
      name: "JobError",
      code: "ERR_SVC_JOB_TIMEOUT",
      message: "the job took longer than 50 ms",
    });
    expect((await bench.rows())[0]).to.include({
      status: "pending",
      last_error: "JobError: the job took longer than 50 ms",
    });
  });

  it("JOB-19 fails before its lease expires if it ignores its signal; the worker claims nothing while such handlers fill all slots", async () => {
    await using bench = await openBench(database.url, { visibilityTimeoutSeconds: 8 });
    const logger = collectingLogger();
    const never = gate();
    await bench.table.enqueueMany(["1", "2"].map((id) => ({ id, task: "a", maxAttempts: 1 })));
    await using working = work(bench, {
      concurrency: 1,
      jobTimeoutSeconds: 0.5,
      logger,
      handlers: { a: () => never.opened },
    });
    await working.reported("dead", 1);
    expect(logger.at("error")).to.include(
      "handlers ignore their signals: no job is claimed until one of them ends",
    );
    expect((await bench.rows()).map(({ status }) => status).toSorted()).to.deep.equal(["dead", "pending"]);
    never.open();
    await working.reported("done", 1);
    expect(working.ids("lease_lost")).to.deep.equal([]);
  });

  it("JOB-11 JOB-19 fails instead of being released if it timed out before the worker stopped", async () => {
    await using bench = await openBench(database.url);
    await bench.table.enqueue({ task: "a" });
    let late: AbortSignal | undefined;
    await using working = work(bench, {
      jobTimeoutSeconds: 0.05,
      handlers: {
        a(_payload, { signal }) {
          late = signal;
          return new Promise(() => undefined);
        },
      },
    });
    await until("its time is up", () => late?.aborted === true);
    void working.worker.stop();
    await working.worker.stop();
    expect(working.ids("failed")).to.have.lengthOf(1);
    expect((await bench.rows())[0]).to.include({ status: "pending", attempts: 1 });
  });

  it("JOB-6 JOB-21 changes nothing when it ends after its lease has expired; the loss is reported and logged", async () => {
    await using bench = await openBench(database.url);
    const logger = collectingLogger();
    const { opened, open } = gate();
    const outcomes = ["done", "failed"];
    await bench.table.enqueueMany(outcomes.map((id) => ({ id, task: id })));
    await using working = work(bench, {
      concurrency: 2,
      logger,
      handlers: {
        done: () => opened,
        async failed() {
          await opened;
          throw new Error("no");
        },
      },
    });
    await until("both run", () => working.worker.running === 2);
    await expire(bench);
    const taken: JobContext["id"][] = (await bench.table.claim(2)).map(({ id }) => id);
    expect(taken.toSorted()).to.deep.equal(outcomes);
    open();
    await working.reported("lease_lost", 2);
    const lost = working.events.flatMap((event) =>
      event.type === "lease_lost" ? [`${event.job.id} ${event.ended}`] : [],
    );
    expect(lost.toSorted()).to.deep.equal(["done done", "failed failed"]);
    expect(logger.at("error")).to.deep.equal(
      Array.from({ length: 2 }, () => "a job ended after its lease had expired"),
    );
    expect(
      (await bench.rows()).every(({ status, attempts }) => status === "running" && attempts === 2),
    ).to.equal(true);
  });
});

describe("settledWithin()", () => {
  it("returns immediately, without a Node warning, when its time limit has passed", async () => {
    const warnings: string[] = [];
    const listener = ({ name }: Error): void => void warnings.push(name);
    process.on("warning", listener);
    await settledWithin(new Promise(() => undefined), -1);
    await new Promise((resolve) => void setImmediate(resolve));
    process.off("warning", listener);
    expect(warnings).to.deep.equal([]);
  });
});
