import { testDatabase } from "@svc/dev-services";
import { createJobTable, type JobTable } from "@svc/job-table";
import type { QueryResult, Row } from "@svc/sql";
import { rejection, until } from "@svc/test-support";
import { expect } from "chai";
import type { Client } from "pg";
import { type Bench, expire, openBench, openClient, waiting } from "./support/bench.ts";

const RUBBISH = 20_000;

interface Slow {
  readonly table: JobTable;
  /** The claims sent. `whole`: the full statement; `read`: the statement with a sequential scan. */
  readonly sent: {
    readonly text: string;
    readonly values: unknown[];
    readonly whole: boolean;
    readonly read: boolean;
  }[];
  /** The fake time in milliseconds. */
  now: number;
  /** Milliseconds by which the server's clock is ahead. */
  ahead: number;
  /** The fake duration of claims with an alternative statement, in milliseconds. */
  took: number;
  /** The fake duration of claims with a sequential scan, if different. */
  readTook?: number;
  /** Fake planner statistics; undefined: the real ones. */
  known: { readonly relpages: number; readonly reltuples: number } | undefined;
  /** The fake duration of claims with the full statement, in milliseconds. */
  wholeTook: number;
  fails: boolean;
  /** Changes a statement before it is sent. */
  through: (text: string) => string;
}

// The response to a slow claim that found a job.
const SLOW = { id: "slow", attempts: 1, max_attempts: 3, spent: false, available_ms: 0, took_ms: 500 };

/** Opens the bench's table again; in exact order, with a history of two slow claims. */
async function slow(bench: Bench, claimOrder: "exact" | "relaxed" = "relaxed"): Promise<Slow> {
  const mine = open(bench, claimOrder);
  if (claimOrder === "relaxed") return mine.slow;
  mine.answers.push(SLOW, SLOW);
  for (let n = 0; n < 2; n++) await mine.slow.table.claim();
  mine.slow.sent.length = 0;
  return mine.slow;
}

/** Opens the bench's table again; `answers` are fake responses to the first claims. */
function open(
  { pool, table: { name } }: Bench,
  claimOrder: "exact" | "relaxed",
): { readonly slow: Slow; readonly answers: Row[] } {
  const answers: Row[] = [];
  const self: Slow = {
    sent: [],
    now: 0,
    ahead: 0,
    took: 500,
    known: { relpages: 1, reltuples: 0 },
    wholeTook: 500,
    fails: false,
    through: (text) => text,
    table: createJobTable({
      name,
      claimOrder,
      now: () => self.now,
      db: {
        async query<R extends Row>(text: string, values: unknown[] = []): Promise<QueryResult<R>> {
          const isClaim = text.includes("took_ms");
          const isWhole = text.includes("made_dead") && !text.includes("earlier");
          const isRead = text.includes("status ||");
          if (isClaim) self.sent.push({ text, values, whole: isWhole, read: isRead });
          if (isClaim && self.fails) throw new Error("away");
          const made = isClaim ? answers.shift() : undefined;
          if (made !== undefined) return { rows: [made as R] };
          const { rows } = await pool.query<R>(self.through(text), values);
          if (!isClaim) return { rows };
          return {
            rows: rows.map((row) => ({
              ...row,
              ...("relpages" in row ? self.known : undefined),
              took_ms: isWhole ? self.wholeTook : isRead ? (self.readTook ?? self.took) : self.took,
              available_ms: Number(row["available_ms"]) + self.ahead,
            })),
          };
        },
      },
    }),
  };
  return { slow: self, answers };
}

const past = (seconds: number): Date => new Date(Date.now() - seconds * 1000);

async function idsOf(table: JobTable, limit?: number): Promise<string[]> {
  return (await table.claim(limit)).map(({ id }) => id);
}

/** Finishes the given number of jobs while an old snapshot keeps their rows. Returns the client with the snapshot. */
async function keep({ pool, table: { name } }: Bench, url: string, jobs: number): Promise<AsyncDisposable> {
  // Autovacuum would run at random, and update the planner's statistics.
  await pool.query(`alter table ${name} set (autovacuum_enabled = false)`);
  const other = await openClient(url);
  await other.query("begin isolation level repeatable read");
  await other.query(`select from ${name}`);
  await pool.query(
    `insert into ${name} (id, task) select n::text, 'a' from generate_series(1, ${jobs}) as n`,
  );
  await pool.query(`delete from ${name} where available_at = created_at and status = 'pending'`);
  return other;
}

interface Gate extends AsyncDisposable {
  /** Returns the statement with a wait for the gate's advisory lock at each due row. */
  readonly through: (text: string) => string;
  someCallWaits(): Promise<void>;
  open(): Promise<void>;
}

async function openGate({ pool, table: { name } }: Bench, keeper: Client): Promise<Gate> {
  await pool.query(`create function gate_${name}() returns bool language plpgsql as
    $$ begin perform pg_advisory_xact_lock_shared(77); return true; end $$`);
  await keeper.query("select pg_advisory_lock(77)");
  const open = async (): Promise<void> => void (await keeper.query("select pg_advisory_unlock_all()"));
  return {
    through: (text) =>
      text.replaceAll(
        "available_at <= statement_timestamp()",
        `available_at <= statement_timestamp() and gate_${name}()`,
      ),
    async someCallWaits() {
      await until("a statement waits", async () => (await waiting(keeper)) === 1);
    },
    open,
    [Symbol.asyncDispose]: open,
  };
}

async function planOf({ pool }: Bench, { text, values }: Slow["sent"][number]): Promise<string> {
  const { rows } = await pool.query<{ "QUERY PLAN": string }>(`explain (costs off) ${text}`, values);
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

/** Returns the number of blocks that a statement reads. */
async function blocksOf({ pool }: Bench, { text, values }: Slow["sent"][number]): Promise<number> {
  const client = await pool.connect();
  await client.query("begin");
  const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(
    `explain (analyze, buffers, format json) ${text}`,
    values,
  );
  await client.query("rollback");
  client.release();
  const plan = rows[0]?.["QUERY PLAN"][0].Plan;
  return (plan?.["Shared Hit Blocks"] ?? 0) + (plan?.["Shared Read Blocks"] ?? 0);
}

describe("claim() while an old snapshot keeps finished jobs' rows", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-snapshot" });

  it("JOB-4 JOB-25 returns an earlier job from another process immediately on a healthy table", async () => {
    await using bench = await openBench(database.url);
    const { table } = bench;
    await table.enqueueMany(["a", "b"].map((id) => ({ id, task: "a", availableAt: past(10) })));
    await using other = await openClient(database.url);
    expect(await idsOf(table)).to.have.lengthOf(1);
    await other.query(
      `insert into ${table.name} (id, task, available_at) values ('first', 'a', now() - interval '1 hour')`,
    );
    expect(await idsOf(table)).to.deep.equal(["first"]);
  });

  it("JOB-4 JOB-16 JOB-25 in exact order still returns earlier jobs and expired leases first after a slow claim", async () => {
    await using bench = await openBench(database.url);
    const mine = await slow(bench, "exact");
    await bench.table.enqueueMany(
      ["lost", "a", "b", "c", "d"].map((id, at) => ({ id, task: "a", availableAt: past(100 - at) })),
    );
    expect(await idsOf(bench.table)).to.deep.equal(["lost"]);
    expect(await idsOf(mine.table)).to.deep.equal(["a"]);
    await bench.table.enqueue({ id: "earlier", task: "a", availableAt: past(1000) });
    expect(await idsOf(mine.table)).to.deep.equal(["earlier"]);
    await bench.pool.query(
      `insert into ${bench.table.name} (id, task, available_at) values ('first', 'a', '-infinity'), ('never', 'a', 'infinity')`,
    );
    await bench.pool.query(
      `update ${bench.table.name} set locked_until = now() - interval '1 s' where id = 'lost'`,
    );
    expect(await idsOf(mine.table, 3)).to.deep.equal(["first", "lost", "b"]);
    expect(await idsOf(mine.table, 3)).to.deep.equal(["c", "d"]);
    expect(mine.sent.map(({ whole }) => whole)).to.deep.equal([true, false, false, false]);
  });

  it("JOB-22 marks exhausted jobs as dead within a second while claims are slow, and immediately when too few jobs are due", async () => {
    await using bench = await openBench(database.url);
    const mine = await slow(bench, "exact");
    const deadIds = async (): Promise<string[]> => (await bench.table.dead()).map(({ id }) => id);
    const lose = async (id: string): Promise<void> => {
      await bench.table.enqueue({ id, task: "a", availableAt: past(300), maxAttempts: 1 });
      expect(await idsOf(bench.table)).to.deep.equal([id]);
      await bench.pool.query(
        `update ${bench.table.name} set locked_until = now() - interval '1 s' where id = $1`,
        [id],
      );
    };
    await mine.table.enqueueMany(Array.from({ length: 4 }, () => ({ task: "a" })));
    await mine.table.claim();
    await lose("one");
    expect(await mine.table.claim()).to.have.lengthOf(1);
    expect(await deadIds()).to.deep.equal([]);
    mine.now = 1000;
    expect(await mine.table.claim()).to.have.lengthOf(1);
    expect(await deadIds()).to.deep.equal(["one"]);
    await lose("two");
    expect(await mine.table.claim(2)).to.have.lengthOf(1);
    expect(await mine.table.claim(2)).to.deep.equal([]);
    expect(await deadIds()).to.have.members(["one", "two"]);
    expect(mine.sent.map(({ whole }) => whole)).to.deep.equal([true, false, true, false, true]);
  });

  it("JOB-24 JOB-25 in exact order reads the dead rows of 20,000 jobs only through both indexes", async () => {
    await using bench = await openBench(database.url);
    const { name } = bench.table;
    for (const [status, moment] of [
      ["dead", "now()"],
      ["pending", "now() + interval '1 day'"],
    ] as const) {
      await bench.pool.query(
        `insert into ${name} (id, task, status, available_at) select '${status}' || n, 'a', '${status}', ${moment} from generate_series(1, 50000) as n`,
      );
    }
    await using _kept = await keep(bench, database.url, RUBBISH);
    for (const step of ["select 1", `analyze ${name}`]) {
      await bench.pool.query(step);
      const mine = await slow(bench, "exact");
      // A sequential scan of the table would take longer than this.
      mine.wholeTook = mine.took = 2;
      mine.known = undefined;
      await mine.table.enqueueMany(Array.from({ length: 3 }, () => ({ task: "a" })));
      for (let n = 0; n < 3; n++) await mine.table.claim();
      const [whole, gathering] = mine.sent;
      if (whole === undefined || gathering === undefined) throw new Error("too few");
      expect(mine.sent.map((sent) => [sent.whole, sent.read])).to.deep.equal([
        [true, false],
        [false, false],
        [false, false],
      ]);
      const plan = await planOf(bench, gathering);
      expect(plan, `${step}: ${plan}`)
        .to.match(/BitmapOr\s+->\s+Bitmap Index Scan on \S+_pending_idx\s+Index Cond: \(available_at <= /)
        .and.match(/Bitmap Index Scan on \S+_running_idx\s+Index Cond: \(locked_until < /)
        .and.not.match(/Seq Scan/);
      // A claim that reads both indexes completely would exceed this limit.
      expect(await blocksOf(bench, gathering)).to.be.lessThan((await blocksOf(bench, whole)) * 1.5);
    }
  });

  it("JOB-25 in exact order scans the table sequentially when it contains little besides dead rows", async () => {
    await using bench = await openBench(database.url);
    await using _kept = await keep(bench, database.url, RUBBISH);
    const { name } = bench.table;
    const reads = async (): Promise<Slow["sent"]> => {
      const mine = await slow(bench, "exact");
      mine.known = undefined;
      await mine.table.enqueueMany(Array.from({ length: 3 }, () => ({ task: "a" })));
      for (let n = 0; n < 3; n++) expect(await mine.table.claim()).to.have.lengthOf(1);
      return mine.sent.filter(({ read }) => read);
    };
    // Without statistics the size of the table is unknown.
    expect(await reads()).to.deep.equal([]);
    await bench.pool.query(`analyze ${name}`);
    const [reading] = await reads();
    if (reading === undefined) throw new Error("it was not read");
    expect(await planOf(bench, reading)).to.match(new RegExp(`Seq Scan on ${name}\\s`));
    const { rows } = await bench.pool.query<{ pages: number }>(
      `select (pg_relation_size('${name}') / 8192)::int as pages`,
    );
    // The claim reads each page of the table once, and almost nothing of the indexes.
    expect(await blocksOf(bench, reading)).to.be.within(rows[0]?.pages ?? 0, (rows[0]?.pages ?? 0) + 50);
  });

  it("JOB-25 uses no sequential scan when reading the table's pages or rows would take longer than the index claim", async () => {
    await using bench = await openBench(database.url);
    await bench.table.enqueueMany(Array.from({ length: 80 }, () => ({ task: "a" })));
    for (const [relpages, reltuples, isRead] of [
      [1900, 100, true],
      [100, 11_000, true],
      [1950, 0, false],
      [1, 12_500, false],
      [0, 0, false],
      [10, -1, false],
    ] as const) {
      const mine = await slow(bench, "exact");
      mine.wholeTook = 5.1;
      mine.took = 1;
      mine.known = { relpages, reltuples };
      for (let n = 0; n < 3; n++) await mine.table.claim();
      expect(mine.sent.some(({ read }) => read)).to.equal(isRead, `${relpages} ${reltuples}`);
    }
  });

  it("JOB-25 reads the statistics of a table with any name, and still claims without permission to read them", async () => {
    await using bench = await openBench(database.url, { name: `It's "the" Jobs` });
    const mine = await slow(bench, "exact");
    await bench.table.enqueueMany(Array.from({ length: 4 }, () => ({ task: "a" })));
    for (let n = 0; n < 2; n++) expect(await mine.table.claim()).to.have.lengthOf(1);
    const [measured] = mine.sent;
    if (measured === undefined) throw new Error("nothing was sent");
    const { rows } = await bench.pool.query(measured.text, measured.values);
    expect(rows[0]).to.include({ relpages: 0, reltuples: -1 });
    const refused = await slow(bench, "exact");
    refused.through = (text) => {
      if (text.includes("relpages")) throw Object.assign(new Error("no"), { code: "42501" });
      return text;
    };
    expect(await rejection(refused.table.claim())).to.have.property("message", "no");
    expect(await refused.table.claim()).to.have.lengthOf(1);
  });

  it("JOB-25 tries the index scan and the sequential scan, continues with the faster one, and retries the slower one later", async () => {
    await using bench = await openBench(database.url);
    const mine = await slow(bench, "exact");
    await bench.table.enqueueMany(Array.from({ length: 80 }, () => ({ task: "a" })));
    const sent = async (claims: number, limit = 1): Promise<string> => {
      const from = mine.sent.length;
      for (let n = 0; n < claims; n++) await mine.table.claim(limit);
      return mine.sent
        .slice(from)
        .map(({ read, whole }) => (read ? "r" : whole ? "w" : "g"))
        .join("");
    };
    [mine.took, mine.readTook] = [300, 200];
    expect(await sent(6)).to.equal("wgrrrr");
    // One slow claim does not change the choice of statement; several do.
    mine.readTook = 400;
    expect(await sent(1)).to.equal("r");
    mine.readTook = 200;
    expect(await sent(3)).to.equal("rrr");
    mine.readTook = 600;
    expect(await sent(4)).to.equal("rggg");
    [mine.took, mine.readTook] = [100, 200];
    mine.now = 9999;
    expect(await sent(12)).to.equal("wggggggggggg");
    mine.now = 10_000;
    expect(await sent(5)).to.equal("rgggg");
    // A much slower statement is tried less and less often, and the faster one stays in use.
    mine.readTook = 2000;
    for (const [now, expected] of [
      [20_000, "wgrgg"],
      [30_000, "wgggg"],
      [40_000, "wgrgg"],
      [79_999, "wgggg"],
      [80_000, "rgggg"],
    ] as const) {
      mine.now = now;
      expect(await sent(5), String(now)).to.equal(expected);
    }
  });

  it("JOB-25 compares the statements even when claims find fewer jobs than requested", async () => {
    await using bench = await openBench(database.url);
    const mine = await slow(bench, "exact");
    [mine.took, mine.readTook] = [100, 300];
    const sent: string[] = [];
    for (let n = 0; n < 8; n++) {
      await bench.table.enqueue({ task: "a" });
      expect(await mine.table.claim(10)).to.have.lengthOf(1);
      const last = mine.sent.at(-1);
      sent.push(last?.read === true ? "r" : last?.whole === true ? "w" : "g");
    }
    expect(sent.join("")).to.equal("wgwrwgwg");
  });

  for (const way of ["full statement", "both indexes", "sequential scan"] as const) {
    it(`JOB-4 claims a job that changes while the statement runs, and skips a locked job (${way})`, async () => {
      await using bench = await openBench(database.url);
      await using other = await openClient(database.url);
      const mine = await slow(bench, "exact");
      if (way === "full statement") mine.wholeTook = 0;
      else {
        mine.readTook = way === "sequential scan" ? 100 : 900;
        await bench.table.enqueueMany(Array.from({ length: 3 }, () => ({ task: "a" })));
        for (let n = 0; n < 3; n++) await mine.table.claim();
      }
      await bench.table.enqueueMany(
        ["a", "b", "c"].map((id, at) => ({ id, task: "a", availableAt: past(100 - at) })),
      );
      await other.query("begin");
      await other.query(`update ${bench.table.name} set payload = '1' where id = 'a'`);
      expect(await idsOf(mine.table)).to.deep.equal(["b"]);
      await other.query("rollback");
      await using gate = await openGate(bench, other);
      mine.through = gate.through;
      const claimed = idsOf(mine.table);
      await gate.someCallWaits();
      await bench.pool.query(`update ${bench.table.name} set payload = '1' where id = 'a'`);
      await gate.open();
      expect(await claimed).to.deep.equal(["a"]);
      const last = mine.sent.at(-1);
      expect([last?.whole, last?.read]).to.deep.equal([way === "full statement", way === "sequential scan"]);
    });
  }

  it("JOB-25 switches to the alternative statement after three consecutive slow claims, not after one", async () => {
    await using bench = await openBench(database.url);
    const mine = await slow(bench, "exact");
    await bench.table.enqueueMany(Array.from({ length: 10 }, () => ({ task: "a" })));
    for (const wholeTook of [1, 500, 500, 1, 500, 500, 500]) {
      mine.wholeTook = wholeTook;
      await mine.table.claim();
    }
    expect(mine.sent.map(({ whole }) => whole)).to.not.include(false);
    await mine.table.claim();
    expect(mine.sent.at(-1)?.whole).to.equal(false);
  });

  it("JOB-25 falls back to the full statement when the alternative is slower, with increasing back-off", async () => {
    await using bench = await openBench(database.url);
    const mine = await slow(bench, "exact");
    mine.wholeTook = 10;
    mine.known = { relpages: 0, reltuples: -1 };
    await bench.table.enqueueMany(Array.from({ length: 60 }, () => ({ task: "a" })));
    const claims = async (tooks: readonly number[]): Promise<boolean[]> => {
      const from = mine.sent.length;
      for (const took of tooks) {
        mine.took = took;
        expect(await mine.table.claim()).to.have.lengthOf(1);
      }
      return mine.sent.slice(from).map(({ whole }) => whole);
    };
    expect(await claims([0, 16, 16, 16, 16, 14])).to.deep.equal([true, ...Array(5).fill(false)]);
    expect(await claims([16, 16, 16, 16, 16, 0, 0])).to.deep.equal([...Array(5).fill(false), true, true]);
    for (const [until, took] of [
      [10_000, 110],
      [30_000, 110],
      [70_000, 0],
    ] as const) {
      mine.now = until - 1;
      expect(await claims([0])).to.deep.equal([true]);
      mine.now = until;
      expect(await claims([0, took])).to.deep.equal([true, false]);
    }
    expect(await claims([110, 0])).to.deep.equal([false, true]);
    mine.now = 80_000;
    expect(await claims([0, 0])).to.deep.equal([true, false]);
    for (let n = 0; n < 8; n++) {
      expect(await claims([110, 0])).to.deep.equal([false, true]);
      mine.now += 640_000;
      expect(await claims([0])).to.deep.equal([true]);
    }
  });

  it("JOB-25 falls back to the full statement when the alternative fails, and counts concurrent failures once", async () => {
    await using bench = await openBench(database.url);
    const failing = await slow(bench, "exact");
    const lost = await slow(bench, "exact");
    await bench.table.enqueueMany(Array.from({ length: 40 }, () => ({ task: "a" })));
    await failing.table.claim();
    failing.fails = true;
    expect(await rejection(failing.table.claim())).to.have.property("message", "away");
    failing.fails = false;
    lost.took = 2010;
    await lost.table.claim();
    await Promise.all(Array.from({ length: 8 }, () => lost.table.claim()));
    for (const mine of [failing, lost]) {
      const from = mine.sent.length;
      mine.now = 9999;
      await Promise.all([mine.table.claim(), mine.table.claim(), mine.table.claim()]);
      mine.now = 10_000;
      for (let n = 0; n < 2; n++) await mine.table.claim();
      const whole = mine.sent.map((one) => one.whole);
      expect(whole.slice(1, from)).to.not.include(true);
      expect(whole.slice(from)).to.deep.equal([true, true, true, true, false]);
    }
  });

  it("JOB-25 keeps the back-off from the alternative statement after a claim that finds no job", async () => {
    await using bench = await openBench(database.url);
    const mine = await slow(bench, "exact");
    mine.took = 2010;
    for (const [now, jobs, claims, wholes] of [
      [0, 2, 4, [true, false, true, true]],
      [10_000, 1, 2, [true, false]],
      [10_000, 2, 2, [true, false]],
      [29_999, 2, 2, [true, true]],
      [30_000, 2, 2, [true, false]],
    ] as const) {
      const from = mine.sent.length;
      mine.now = now;
      await mine.table.enqueueMany(Array.from({ length: jobs }, () => ({ task: "a" })));
      for (let n = 0; n < claims; n++) await mine.table.claim();
      expect(mine.sent.slice(from).map(({ whole }) => whole)).to.deep.equal(wholes);
    }
  });

  it("JOB-22 repeats the full statement until it marks less than a full batch of exhausted jobs as dead", async () => {
    await using bench = await openBench(database.url);
    const mine = await slow(bench, "exact");
    await bench.table.enqueueMany(Array.from({ length: 250 }, () => ({ task: "a", maxAttempts: 1 })));
    await bench.table.claim(250);
    await expire(bench);
    await bench.table.enqueueMany(Array.from({ length: 10 }, () => ({ task: "a" })));
    for (let n = 0; n < 4; n++) expect(await mine.table.claim()).to.have.lengthOf(1);
    expect(mine.sent.map(({ whole }) => whole)).to.deep.equal([true, true, true, false]);
    expect((await bench.table.stats()).dead).to.equal(250);
  });

  it("JOB-4 JOB-25 in relaxed order reads almost none of the dead rows of 20,000 jobs", async () => {
    await using bench = await openBench(database.url);
    await using _kept = await keep(bench, database.url, RUBBISH);
    const mine = await slow(bench);
    for (const id of ["one", "two", "three"]) {
      await mine.table.enqueue({ id, task: "a" });
      expect(await idsOf(mine.table)).to.deep.equal([id]);
    }
    expect(mine.sent.map(({ whole }) => whole)).to.deep.equal([true, false, false]);
    const [whole, , stepping] = mine.sent;
    if (whole === undefined || stepping === undefined) throw new Error("nothing was sent");
    await mine.table.enqueue({ task: "a" });
    const blocks = await blocksOf(bench, whole);
    expect(blocks).to.be.greaterThan(RUBBISH / 200);
    expect(await blocksOf(bench, stepping)).to.be.lessThan(blocks / 4);
  });

  it("JOB-4 finds an earlier job from another process within a second, and one from its own process immediately", async () => {
    await using bench = await openBench(database.url);
    const mine = await slow(bench);
    await bench.table.enqueueMany(
      ["a", "b", "c", "d", "e"].map((id, at) => ({ id, task: "a", availableAt: past(100 - at) })),
    );
    expect(await idsOf(mine.table)).to.deep.equal(["a"]);
    await bench.table.enqueue({ id: "earlier", task: "a", availableAt: past(1000) });
    expect(await idsOf(mine.table)).to.deep.equal(["b"]);
    mine.now = 999;
    expect(await idsOf(mine.table)).to.deep.equal(["c"]);
    mine.now = 1000;
    expect(await idsOf(mine.table)).to.deep.equal(["earlier"]);
    await mine.table.enqueue({ id: "own", task: "a", availableAt: past(1000) });
    expect(await idsOf(mine.table)).to.deep.equal(["own"]);
    await mine.table.enqueueMany([{ id: "many", task: "a", availableAt: past(2000) }]);
    expect(await idsOf(mine.table)).to.deep.equal(["many"]);
    expect(await idsOf(mine.table)).to.deep.equal(["d"]);
  });

  it("JOB-16 JOB-22 finds every due job when fewer are due than requested, including expired leases", async () => {
    await using bench = await openBench(database.url);
    const mine = await slow(bench);
    await bench.table.enqueueMany([
      { id: "lost", task: "a", availableAt: past(300) },
      { id: "spent", task: "a", availableAt: past(300), maxAttempts: 1 },
    ]);
    await bench.table.claim(2);
    await mine.table.enqueueMany(["a", "b"].map((id) => ({ id, task: "a" })));
    expect(await mine.table.claim(1)).to.have.lengthOf(1);
    await bench.table.enqueue({ id: "earlier", task: "a", availableAt: past(1000) });
    await expire(bench);
    const [first, second, ...others] = await idsOf(mine.table, 10);
    expect([first, second]).to.deep.equal(["earlier", "lost"]);
    expect(others).to.have.members(["a", "b"]);
    expect(mine.sent.at(-1)?.whole).to.equal(false);
    expect((await bench.table.dead()).map(({ id }) => id)).to.deep.equal(["spent"]);
    expect(await idsOf(mine.table, 10)).to.deep.equal([]);
  });

  it("JOB-22 JOB-25 continues to skip dead rows after a claim that found only exhausted jobs", async () => {
    await using bench = await openBench(database.url);
    const mine = await slow(bench);
    await mine.table.enqueueMany([{ task: "a" }, { task: "a", maxAttempts: 1 }]);
    await mine.table.claim(2);
    await expire(bench);
    await bench.pool.query(`update ${bench.table.name} set locked_until = null where max_attempts > 1`);
    mine.now = 1000;
    expect(await mine.table.claim()).to.deep.equal([]);
    expect((await bench.table.stats()).dead).to.equal(1);
    await mine.table.enqueue({ task: "a" });
    expect(await mine.table.claim()).to.have.lengthOf(1);
    expect(mine.sent.map(({ whole }) => whole)).to.deep.equal([true, true, false]);
  });

  it("JOB-8 JOB-11 JOB-12 finds released, failed and retried jobs, and jobs from a rolled-back claim", async () => {
    await using bench = await openBench(database.url);
    const mine = await slow(bench);
    const all = ["a", "b", "c", "d", "e", "f"];
    await bench.table.enqueueMany(all.map((id, at) => ({ id, task: "a", availableAt: past(100 - at) })));
    await using other = await openClient(database.url);
    await other.query("begin");
    expect(await bench.table.claim(1, { tx: other })).to.have.lengthOf(1);
    const [first, second, third] = await mine.table.claim(3);
    if (first === undefined || second === undefined || third === undefined) throw new Error("too few");
    expect([first, second, third].map(({ id }) => id)).to.deep.equal(["b", "c", "d"]);
    await other.query("rollback");
    expect(await bench.table.release(first)).to.equal(true);
    expect(await bench.table.fail(second, "x")).to.equal("pending");
    expect(await bench.table.fail(third, "x", { dead: true })).to.equal("dead");
    await bench.table.retryDead("all");
    await bench.pool.query(`update ${bench.table.name} set available_at = $1 where id = 'c'`, [past(5000)]);
    // Expect first the two jobs after the start position, then all other jobs.
    expect(await idsOf(mine.table, 2)).to.deep.equal(["e", "f"]);
    expect(await idsOf(mine.table, 10)).to.deep.equal(["c", "a", "b", "d"]);
    expect(mine.sent.map(({ whole }) => whole)).to.deep.equal([true, false, false]);
  });

  it("JOB-4 uses the full statement in a transaction, and returns the same jobs first after a rollback", async () => {
    await using bench = await openBench(database.url);
    const mine = await slow(bench);
    await bench.table.enqueueMany(
      ["a", "b", "c"].map((id, at) => ({ id, task: "a", availableAt: past(100 - at) })),
    );
    await using other = await openClient(database.url);
    await other.query("begin");
    expect((await mine.table.claim(1, { tx: other })).map(({ id }) => id)).to.deep.equal(["a"]);
    await other.query("rollback");
    expect(await idsOf(mine.table)).to.deep.equal(["a"]);
    mine.fails = true;
    expect(await rejection(mine.table.claim())).to.have.property("message", "away");
    mine.fails = false;
    await bench.table.enqueue({ id: "earlier", task: "a", availableAt: past(1000) });
    expect(await idsOf(mine.table)).to.deep.equal(["earlier"]);
  });

  for (const order of ["exact", "relaxed"] as const) {
    it(`JOB-4 finds every job when the server's clock is set back an hour (${order})`, async () => {
      await using bench = await openBench(database.url);
      const mine = await slow(bench, order);
      mine.ahead = 3_600_000;
      await mine.table.enqueueMany(["a", "b"].map((id) => ({ id, task: "a" })));
      const before = await idsOf(mine.table);
      mine.ahead = 0;
      expect([...before, ...(await idsOf(mine.table))].toSorted()).to.deep.equal(["a", "b"]);
      expect(mine.sent.map(({ whole }) => whole)).to.deep.equal([true, false]);
    });

    it(`JOB-4 returns every job once to two concurrent callers, including earlier jobs that are queued while they claim (${order})`, async () => {
      await using bench = await openBench(database.url);
      const claimers = [await slow(bench, order), await slow(bench, order)];
      await bench.table.enqueueMany(Array.from({ length: 300 }, () => ({ task: "a" })));
      const seen: string[] = [];
      let queued = 300;
      await Promise.all(
        claimers.map(async ({ table }) => {
          for (let jobs = await table.claim(7); jobs.length > 0; jobs = await table.claim(7)) {
            seen.push(...jobs.map(({ id }) => id));
            if (seen.length % 3 !== 0) continue;
            queued += 1;
            await bench.table.enqueue({ task: "a", availableAt: past(3600) });
          }
        }),
      );
      expect(seen).to.have.lengthOf(queued);
      expect(new Set(seen).size).to.equal(queued);
    });
  }
});
