import { testDatabase } from "@svc/dev-services";
import { createJobTable, type JobTable } from "@svc/job-table";
import { until } from "@svc/test-support";
import { expect } from "chai";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createClaimer } from "../src/worker/claimer.ts";
import { createCompletions } from "../src/worker/completions.ts";
import type { Session } from "../src/worker/session.ts";
import { recoverSql } from "../src/sql/recover.ts";
import { type Bench, expire, openBench, openClient, openPool } from "./support/bench.ts";
import { overhear } from "./support/overhear.ts";
import { gate, work, type Working } from "./support/working.ts";

const dyingWorker = fileURLToPath(new URL("support/dying-worker.ts", import.meta.url));

/** Queues jobs and expires their leases, as after the loss of a worker. */
async function lose(bench: Bench, ids: readonly string[]): Promise<void> {
  const availableAt = new Date(Date.now() - 3_600_000);
  await bench.table.enqueueMany(ids.map((id) => ({ id, task: "a", availableAt })));
  for (let left = ids.length; left > 0; left -= 1000) await bench.table.claim(Math.min(left, 1000));
  await expire(bench);
}

const numbered = (count: number, name = "lost"): string[] =>
  Array.from({ length: count }, (_, n) => `${name}-${n}`);

/** A bench's table on a separate pool, with the statements sent over this pool. */
interface Overheard extends AsyncDisposable {
  readonly table: JobTable;
  readonly sent: string[];
}

function overhearTable({ table: { name } }: Bench, url: string): Overheard {
  const sent: string[] = [];
  const pool = openPool(url);
  pool.on("connect", (client) => overhear(client, sent));
  return { table: createJobTable({ db: pool, name }), sent, [Symbol.asyncDispose]: () => pool.end() };
}

const isClaim = (text: string): boolean => text.includes("attempts = least(job.attempts");
const isSweep = (text: string): boolean => text.includes("recovered as");

async function emptied(bench: Bench): Promise<void> {
  await until("no job is left", async () => (await bench.rows()).length === 0, 30_000);
}

describe("recovery of expired leases", function () {
  this.timeout(90_000);
  const database = testDatabase({ name: "job-recovery" });

  for (const listen of [true, false]) {
    it(`needs as many claims for 400 expired leases as for 400 pending jobs, with listen: ${String(listen)} (JOB-34)`, async () => {
      await using bench = await openBench(database.url);
      await lose(bench, numbered(400));
      await using overheard = overhearTable(bench, database.url);
      const { table, sent } = overheard;
      await using _ = work(
        { ...bench, table },
        { concurrency: 4, pollMs: 1000, listen, handlers: { a: () => undefined } },
      );
      await emptied(bench);
      const claims = sent.filter(isClaim).length;
      expect(claims, "claims of four jobs each, some of fewer").to.be.within(100, 200);
    });
  }

  it("starts older jobs with expired leases before newer pending ones (JOB-34 JOB-4)", async () => {
    await using bench = await openBench(database.url);
    const older = numbered(40);
    await lose(bench, older);
    await bench.table.enqueueMany(numbered(40, "newer").map((id) => ({ id, task: "a" })));
    const started: string[] = [];
    await using _ = work(bench, {
      concurrency: 2,
      pollMs: 1000,
      handlers: { a: (_payload, { id }) => void started.push(id) },
    });
    await emptied(bench);
    expect(started.slice(0, 40).toSorted()).to.deep.equal(older.toSorted());
  });

  for (const prefetch of [0, 4]) {
    it(`finds expired leases while newer jobs fill every claim, with prefetch: ${prefetch} (JOB-34)`, async () => {
      await using bench = await openBench(database.url);
      await lose(bench, numbered(20));
      // Let the leases expire while the worker runs, so that its first sweep finds nothing.
      await bench.pool.query(`update ${bench.table.name} set locked_until = now() + interval '1 day'`);
      await bench.table.enqueueMany(numbered(50, "newer").map((id) => ({ id, task: "a" })));
      const started: string[] = [];
      let newer = 50;
      let hasExpired = false;
      const lost = new Set<string>();
      await using working = work(bench, {
        concurrency: 2,
        prefetch,
        pollMs: 10,
        handlers: {
          async a(_payload, { id }) {
            started.push(id);
            // Once: newer-10 runs again, because its own lease expires too.
            if (id === "newer-10" && !hasExpired) {
              hasExpired = true;
              await expire(bench);
            }
            if (id.startsWith("lost")) lost.add(id);
            // Queue two jobs for each one started, so that newer jobs fill every claim until all lost jobs have
            // started.
            else if (lost.size < 20 && newer < 20_000) {
              const more = [newer++, newer++].map((n) => ({ id: `newer-${n}`, task: "a" }));
              await bench.table.enqueueMany(more);
            }
          },
        },
      });
      await until("all lost jobs have started", () => lost.size === 20, 30_000);
      await working.worker.stop();
      const first = started.findIndex((id) => id.startsWith("lost"));
      const together = started.slice(first, first + 24).filter((id) => id.startsWith("lost"));
      expect(together, "the first job and those claimed with it").to.have.lengthOf(20);
    });
  }

  it("keeps a job's attempts, position and error, and rejects the previous worker's acknowledgement (JOB-34 JOB-16 JOB-21)", async () => {
    await using bench = await openBench(database.url);
    const { opened, open } = gate();
    await lose(bench, ["first", "second"]);
    await bench.pool.query(`update ${bench.table.name} set last_error = 'of before'`);
    const before = await bench.rows();
    const lease = { id: "second", attempts: 1, lockedUntil: "2026-01-01T00:00:00.000000Z" };
    await bench.pool.query(`update ${bench.table.name} set locked_until = $1`, [lease.lockedUntil]);
    const attempts: number[] = [];
    await using working = work(bench, {
      concurrency: 1,
      handlers: {
        a(_payload, job) {
          attempts.push(job.attempts);
          return opened;
        },
      },
    });
    await until("one runs", () => working.worker.running === 1);
    const waiting = (await bench.rows()).filter(({ status }) => status === "pending");
    expect(waiting).to.have.lengthOf(1);
    expect(waiting[0]).to.deep.equal({
      ...before.find(({ id }) => id === waiting[0]?.id),
      status: "pending",
      locked_until: null,
    });
    expect(await bench.table.ack({ ...lease, id: waiting[0]?.id ?? "" })).to.equal(false);
    open();
    await emptied(bench);
    expect(attempts).to.deep.equal([2, 2]);
  });

  it("marks 250 jobs whose leases expired on the last attempt as dead in three sweeps, and reports each (JOB-22 JOB-34)", async () => {
    await using bench = await openBench(database.url);
    await lose(bench, numbered(500));
    await bench.pool.query(`update ${bench.table.name} set max_attempts = 1 where substr(id, 6)::int < 250`);
    await using overheard = overhearTable(bench, database.url);
    const { table, sent } = overheard;
    await using working: Working = work(
      { ...bench, table },
      { concurrency: 1, pollMs: 1000, handlers: { a: () => undefined } },
    );
    await working.reported("done", 1);
    expect(sent.slice(0, sent.findIndex(isClaim)).filter(isSweep).length).to.equal(3);
    expect(working.ids("dead")).to.have.lengthOf(250);
    expect((await bench.table.stats()).dead).to.equal(250);
    await working.reported("done", 250);
    expect(new Set((await bench.table.dead(1000)).map(({ lastError }) => lastError))).to.deep.equal(
      new Set(["lease expired on the last attempt"]),
    );
  });

  it("works on a table with the name of a part of its statements (JOB-34 JOB-22)", async () => {
    for (const name of ["ended", "recovered", "exhausted"]) {
      await using bench = await openBench(database.url, { name });
      await lose(bench, ["again", "last"]);
      await bench.pool.query(`update ${name} set max_attempts = 1 where id = 'last'`);
      await using working = work(bench, { concurrency: 1, handlers: { a: () => undefined } });
      await until("both jobs have ended", async () => {
        const { pending, running, dead } = await bench.table.stats();
        return pending + running === 0 && dead === 1;
      });
      expect(working.ids("done"), name).to.deep.equal(["again"]);
    }
  });

  it("recovers the 1,000 jobs of a killed worker (JOB-34 JOB-16 JOB-23)", async () => {
    await using bench = await openBench(database.url);
    await bench.pool.query("create table if not exists starts (job text, pid int)");
    await bench.table.enqueueMany(numbered(1000).map((id) => ({ id, task: "a" })));
    const child: ChildProcess = spawn(
      process.execPath,
      ["--conditions=@svc/source", dyingWorker, database.url, bench.table.name, "1000"],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    let out = "";
    child.stdout?.on("data", (chunk: Buffer) => (out += chunk.toString()));
    await until("three handlers run", () => out.split("started").length === 4, 30_000);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect((await bench.table.stats()).running).to.equal(1000);
    await expire(bench);
    const attempts = new Map<string, number>();
    await using overheard = overhearTable(bench, database.url);
    const { table, sent } = overheard;
    await using _ = work(
      { ...bench, table },
      { pollMs: 1000, handlers: { a: (_payload, job) => void attempts.set(job.id, job.attempts) } },
    );
    await emptied(bench);
    expect(attempts.size).to.equal(1000);
    expect(new Set(attempts.values())).to.deep.equal(new Set([2]));
    expect(sent.filter(isClaim).length).to.be.within(250, 500);
  });

  it("reads each batch once, because the next one starts where the last one ended (JOB-34)", async () => {
    await using bench = await openBench(database.url);
    await lose(bench, numbered(2500));
    await bench.pool.query(
      `update ${bench.table.name} set locked_until = locked_until - substr(id, 6)::int * interval '1 millisecond'`,
    );
    const sinces: unknown[] = [];
    const ended: number[] = [];
    const session: Session = {
      queues: false,
      isOpen: false,
      isIdle: false,
      async query(_name, text, values) {
        const { rows } = await bench.pool.query(text, values);
        if (text === recoverSql(bench.table.name)) sinces.push(values[0]);
        return rows;
      },
      close: () => undefined,
    };
    const claimer = createClaimer(bench.table.name, 300, 500);
    for (let sweeps = 0; sweeps < 5 && claimer.untilSweep() <= 0; sweeps++) {
      await claimer.sweep(session);
      ended.push((await bench.table.stats()).pending);
    }
    expect(ended).to.deep.equal([1000, 2000, 2500]);
    const [first, second, third] = sinces as number[];
    expect(first).to.equal(-Infinity);
    expect(Number(third) - Number(second), "starts a thousand leases later").to.be.within(995, 1005);
  });

  it("sweeps again when a known lease expires, soon while other sessions recover jobs, and rarely when sweeps are slow (JOB-34)", async () => {
    const nothing = {
      ended: 0,
      exhausted: 0,
      reached_ms: null,
      any: false,
      next_ms: null,
      due: false,
      took_ms: 0,
    };
    const pauseAfter = async (answer: object): Promise<number> => {
      const claimer = createClaimer("jobs", 300, 500_000);
      const session = { query: () => Promise.resolve([{ ...nothing, ...answer }]) } as unknown as Session;
      await claimer.sweep(session);
      return claimer.untilSweep();
    };
    expect(await pauseAfter({})).to.be.within(400_000, 500_000);
    expect(await pauseAfter({ next_ms: 300_000 })).to.be.within(200_000, 300_002);
    expect(await pauseAfter({ any: true })).to.be.within(-60_000, 100);
    expect(await pauseAfter({ ended: 10, any: true, took_ms: 50_000 })).to.be.within(-60_000, 100);
    // The pause is five times the duration of the sweep, at most ten seconds.
    expect(await pauseAfter({ any: true, took_ms: 1e9 })).to.be.within(100, 10_000);
  });

  it("claims from the beginning again after a sweep, because recovered jobs are earlier (JOB-34 JOB-25)", async () => {
    const froms: unknown[] = [];
    const session = {
      query: (name: string, _text: string, values: readonly unknown[]) => {
        if (name === "svc_job_recover") return Promise.resolve([]);
        froms.push(values[2]);
        return Promise.resolve([{ id: "x", available_ms: 1000, lease: "2026-01-01T00:00:00.000000Z" }]);
      },
    } as unknown as Session;
    const completions = createCompletions("jobs", 300_000, undefined, () => undefined);
    const claimer = createClaimer("jobs", 300, 500);
    for (const sweeps of [true, false, true]) {
      if (sweeps) await claimer.sweep(session);
      await claimer.claim(session, 1, completions);
    }
    expect(froms).to.deep.equal([-Infinity, 950, -Infinity]);
  });

  it("skips a job that another session has locked, and recovers the others (JOB-34 JOB-4)", async () => {
    await using bench = await openBench(database.url);
    await lose(bench, numbered(3));
    await using other = await openClient(database.url);
    await other.query(`begin; select from ${bench.table.name} where id = 'lost-1' for update`);
    await using working = work(bench, { handlers: { a: () => undefined } });
    await working.reported("done", 2);
    expect((await bench.rows()).map(({ id, status }) => [id, status])).to.deep.equal([["lost-1", "running"]]);
    await other.query("rollback");
    await working.reported("done", 3);
  });
});
