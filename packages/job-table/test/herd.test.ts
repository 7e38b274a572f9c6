import { testDatabase } from "@svc/dev-services";
import { createJobTable, createWorker, type JobTable } from "@svc/job-table";
import { until } from "@svc/test-support";
import { expect } from "chai";
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { createGroup, type Member } from "../src/listener.ts";
import { settledWithin } from "../src/worker/worker.ts";
import { openClient, openPool } from "./support/bench.ts";

/** A member that records its calls. */
function countingMember(): Member & { readonly calls: string[] } {
  const calls: string[] = [];
  return {
    calls,
    announcement: "handlers []",
    wake: () => void calls.push("wake"),
    sweptElsewhere: (ms) => void calls.push(`swept ${ms}`),
    hasten: () => void calls.push("hasten"),
    reset: () => void calls.push("reset"),
    announced: () => undefined,
    pooler: () => undefined,
    fault: () => undefined,
  };
}

function groupOf(members: readonly Member[], isListening = true): ReturnType<typeof createGroup> {
  const none = (): void => undefined;
  const group = createGroup(new Set(), { isListening: () => isListening, joined: none, left: none });
  for (const member of members) group.join(member);
  return group;
}

// After this time the pause between sweeps is at its maximum: the fifth sweep runs 7.5 s after the first.
const QUIET_MS = 8000;
// Longer than the normal interval of 500 ms by a stall. With the longer pause, each job waits for 2500 ms or more.
const SOON_MS = 2000;

/** Starts a worker, and returns how long each of its jobs was due before its claim. */
function startCollecting(stack: AsyncDisposableStack, table: JobTable): readonly number[] {
  const waits: number[] = [];
  const worker = createWorker({
    table,
    claimOnEnqueue: false,
    handlers: { work: () => undefined },
    onEvent(event) {
      if (event.type === "claimed") waits.push(...event.jobs.map(({ waitedMs }) => waitedMs));
    },
  });
  worker.start();
  stack.defer(() => worker.stop());
  return waits;
}

describe("workers in one process", () => {
  it("send one claim after a notification, and more only while claims are full", () => {
    const [a, b] = [countingMember(), countingMember()];
    const group = groupOf([a, b]);
    expect(group.claims, "the first sweep looks for jobs").to.equal(0);
    group.mayBeDue();
    expect(group.claims).to.equal(1);
    expect([a.calls, b.calls]).to.deep.equal([["wake"], ["wake"]]);
    const counts: number[] = [];
    for (let full = 0; full < 6; full++) {
      const answered = group.claimSent(a);
      answered(true);
      counts.push(group.claims);
    }
    expect(counts).to.deep.equal([1, 2, 4, 8, 16, 16]);
    group.claimSent(b)(false);
    expect(group.claims, "a claim that was not full saw every due job").to.equal(0);
    const answered = group.claimSent(b);
    group.mayBeDue();
    answered(false);
    expect(group.claims, "a notification came after the claim").to.equal(1);
  });

  it("are woken in rotation: the last one to claim is woken last", () => {
    const woken: string[] = [];
    const member = (name: string): Member => ({ ...countingMember(), wake: () => void woken.push(name) });
    const [a, b] = [member("a"), member("b")];
    const group = groupOf([a, b]);
    group.mayBeDue();
    group.claimSent(a)(false);
    group.mayBeDue();
    expect(woken).to.deep.equal(["a", "b", "b", "a"]);
  });

  it("share the result of one worker's sweep, and sweep less often while the table is quiet and they receive notifications (JOB-34)", () => {
    const [a, b] = [countingMember(), countingMember()];
    const group = groupOf([a, b]);
    group.swept(a, 500);
    expect([a.calls, b.calls]).to.deep.equal([[], ["swept 500"]]);
    const pauses: number[] = [];
    for (let sweeps = 0; sweeps < 6; sweeps++) {
      pauses.push(group.sweepPause(500));
      group.quiet();
    }
    expect(pauses).to.deep.equal([500, 1000, 2000, 4000, 5000, 5000]);
    group.active();
    expect(group.sweepPause(500)).to.equal(500);
    expect(a.calls).to.deep.equal(["hasten", "wake"]);
    group.active();
    expect(a.calls, "a table that is not quiet needs no haste").to.have.lengthOf(2);
    const polling = groupOf([a], false);
    for (let sweeps = 0; sweeps < 6; sweeps++) polling.quiet();
    expect(polling.sweepPause(500)).to.equal(500);
  });

  describe("with real connections", function () {
    this.timeout(60_000);
    const database = testDatabase({ name: "job-herd" });

    it("share one LISTEN connection across tables, and release their own connections when idle", async () => {
      await using stack = new AsyncDisposableStack();
      const pool = openPool(database.url, 30);
      stack.defer(() => pool.end());
      const tables = Array.from({ length: 12 }, (_, n) => createJobTable({ db: pool, name: `herd_${n}` }));
      const runs: string[] = [];
      for (const table of tables) {
        await table.ensureSchema();
        for (let n = 0; n < 2; n++) {
          const worker = createWorker({
            table,
            claimOnEnqueue: false,
            handlers: { work: (_payload, { id }) => void runs.push(id) },
          });
          worker.start();
          stack.defer(() => worker.stop());
        }
      }
      const listening = async (): Promise<number> => {
        const { rows } = await pool.query<{ count: number }>(
          "select count(*)::int as count from pg_stat_activity where query like '%listen %' and pid <> pg_backend_pid()",
        );
        return rows[0]?.count ?? 0;
      };
      const queued: string[] = [];
      for (let round = 0; round < 3; round++) {
        for (const table of tables) queued.push((await table.enqueue({ task: "work" })).id);
      }
      await until("all jobs have run", () => runs.length === queued.length);
      expect(runs.toSorted()).to.deep.equal(queued.toSorted());
      expect(await listening()).to.be.at.most(1);
      // Sweeps and the query above borrow pool connections briefly.
      await until(
        "only the listening connection stays lent",
        () => pool.totalCount - pool.idleCount <= 1,
        40_000,
      );
    });

    it("find jobs after the listening connection was lost, and after the worker that opened it has stopped", async () => {
      await using stack = new AsyncDisposableStack();
      const pool = openPool(database.url, 10);
      stack.defer(() => pool.end());
      const table = createJobTable({ db: pool, name: "herd_lost" });
      await table.ensureSchema();
      const runs = new Map<string, string>();
      const start = (name: string): ReturnType<typeof createWorker> => {
        const worker = createWorker({
          table,
          claimOnEnqueue: false,
          handlers: { work: (_payload, { id }) => void runs.set(id, name) },
        });
        worker.start();
        stack.defer(() => worker.stop());
        return worker;
      };
      const first = start("first");
      start("second");
      const run = async (): Promise<string | undefined> => {
        const { id } = await table.enqueue({ task: "work" });
        await until("the job has run", () => runs.has(id));
        return runs.get(id);
      };
      await run();
      await first.stop();
      expect(await run()).to.equal("second");
      await pool.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
      );
      expect(await run()).to.equal("second");
      // Queue a job as a program in another language does.
      await pool.query("insert into herd_lost (id, task) values ('foreign', 'work')");
      await pool.query("select pg_notify('svc_job:herd_lost', '')");
      await until("the job of another program has run", () => runs.has("foreign"));
      const third = start("third");
      await third.stop();
      expect(await run()).to.equal("second");
    });

    it("leave no connection open when stopped before the connection is established", async () => {
      for (let n = 0; n < 5; n++) {
        const brief = openPool(database.url, 3);
        const worker = createWorker({
          table: createJobTable({ db: brief, name: "herd_brief" }),
          handlers: { work: () => undefined },
        });
        worker.start();
        await worker.stop();
        await settledWithin(brief.end(), 5000);
        expect(brief.totalCount).to.equal(0);
      }
    });

    it("become healthy again after a failure, even if no job is queued", async () => {
      await using stack = new AsyncDisposableStack();
      const pool = openPool(database.url, 3);
      stack.defer(() => pool.end());
      const table = createJobTable({ db: pool, name: "herd_health" });
      const workers = Array.from({ length: 5 }, () =>
        createWorker({ table, handlers: { work: () => undefined } }),
      );
      const healthy = async (): Promise<number> => {
        const checks = workers.map(async (worker) => worker.readiness().check(AbortSignal.timeout(1000)));
        return (await Promise.all(checks)).filter((check) => check.healthy).length;
      };
      for (const worker of workers) {
        worker.start();
        stack.defer(() => worker.stop());
      }
      await until("the workers have failed", async () => (await healthy()) === 0);
      await table.ensureSchema();
      await until("the workers are healthy", async () => (await healthy()) === workers.length, 10_000);
    });

    it("sweep a quiet table every 500 ms with notify: false", async () => {
      await using stack = new AsyncDisposableStack();
      const pool = openPool(database.url, 3);
      stack.defer(() => pool.end());
      const table = createJobTable({ db: pool, name: "herd_silent", notify: false });
      await table.ensureSchema();
      const waits = startCollecting(stack, table);
      await setTimeout(QUIET_MS);
      await table.enqueue({ task: "work" });
      await until("the job has run", () => waits.length === 1);
      expect(waits[0]).to.be.below(SOON_MS);
    });

    it("start a job within two seconds of its retry time if another client reported its failure", async () => {
      await using stack = new AsyncDisposableStack();
      const pool = openPool(database.url, 3);
      stack.defer(() => pool.end());
      const table = createJobTable({ db: pool, name: "herd_failed" });
      await table.ensureSchema();
      await table.enqueue({ task: "work" });
      const [job] = await table.claim();
      assert(job !== undefined);
      const waits = startCollecting(stack, table);
      await setTimeout(QUIET_MS);
      expect(await table.fail(job, new Error("later"))).to.equal("pending");
      await until("the job has run", () => waits.length === 1, 10_000);
      expect(waits[0]).to.be.below(SOON_MS);
    });

    it("find jobs in other tables while a lock on one table blocks the listening connection", async () => {
      await using stack = new AsyncDisposableStack();
      const pool = openPool(database.url, 8);
      stack.defer(() => pool.end());
      const locked = createJobTable({ db: pool, name: "herd_locked" });
      const other = createJobTable({ db: pool, name: "herd_other" });
      await locked.ensureSchema();
      await other.ensureSchema();
      startCollecting(stack, locked);
      const waits = startCollecting(stack, other);
      await setTimeout(QUIET_MS);
      const locker = stack.use(await openClient(database.url));
      await locker.query("begin; lock table herd_locked");
      // Notify from another session, because the transaction with the lock stays open.
      await pool.query("select pg_notify('svc_job:herd_locked', '')");
      await until("a statement waits for the lock", async () => {
        const { rows } = await locker.query("select from pg_locks where not granted");
        return rows.length > 0;
      });
      await setTimeout(1500);
      await other.enqueue({ task: "work" });
      await until("the job has run", () => waits.length === 1, 10_000);
      expect(waits[0]).to.be.below(SOON_MS);
      await locker.query("rollback");
    });

    it("replace an idle listening connection that died without an error", async function () {
      // Windows has no SIGSTOP.
      if (process.platform === "win32") this.skip();
      await using stack = new AsyncDisposableStack();
      const outside = openPool(database.url, 2);
      stack.defer(() => outside.end());
      const pool = openPool(database.url, 3);
      stack.defer(() => pool.end());
      const table = createJobTable({ db: pool, name: "herd_dead" });
      await table.ensureSchema();
      const handlers = { work: () => undefined };
      const first = createWorker({ table, handlers, commandTimeoutMs: 1000 });
      first.start();
      const waits = startCollecting(stack, table);
      await setTimeout(500);
      await first.stop();
      const { rows } = await outside.query<{ pid: number }>(
        "select pid from pg_stat_activity where datname = current_database() and query = 'select 1' and pid <> pg_backend_pid()",
      );
      expect(rows, "the listening connection").to.have.lengthOf(1);
      const pid = rows[0]?.pid ?? 0;
      process.kill(pid, "SIGSTOP");
      stack.defer(() => void process.kill(pid, "SIGCONT"));
      await setTimeout(QUIET_MS);
      await createJobTable({ db: outside, name: "herd_dead" }).enqueue({ task: "work" });
      await until("the job has run", () => waits.length === 1, 10_000);
      expect(waits[0]).to.be.below(SOON_MS);
    });
  });
});
