import { testDatabase } from "@svc/dev-services";
import { createJobTable, type JobTable } from "@svc/job-table";
import type { QueryResult, Row } from "@svc/sql";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { type Bench, expire, openBench, openClient } from "./support/bench.ts";

const RUBBISH = 20_000;

interface Slow {
  readonly table: JobTable;
  /** The claims that were sent, and whether each looked at everything. */
  readonly sent: { readonly text: string; readonly values: unknown[]; readonly whole: boolean }[];
  /** Milliseconds that have passed. */
  now: number;
  /** By how many milliseconds the server's clock is ahead. */
  ahead: number;
  fails: boolean;
}

/** The same table of somebody to whom every claim seems slow. */
function slow({ pool, table: { name } }: Bench, claimOrder: "exact" | "relaxed" = "relaxed"): Slow {
  const self: Slow = {
    sent: [],
    now: 0,
    ahead: 0,
    fails: false,
    table: createJobTable({
      name,
      claimOrder,
      now: () => self.now,
      db: {
        async query<R extends Row>(text: string, values: unknown[] = []): Promise<QueryResult<R>> {
          const isClaim = text.includes("took_ms");
          if (isClaim) self.sent.push({ text, values, whole: values.length === 2 });
          if (isClaim && self.fails) throw new Error("away");
          const { rows } = await pool.query<R>(text, values);
          if (!isClaim) return { rows };
          return {
            rows: rows.map((row) => ({
              ...row,
              took_ms: 500,
              available_ms: Number(row["available_ms"]) + self.ahead,
            })),
          };
        },
      },
    }),
  };
  return self;
}

const past = (seconds: number): Date => new Date(Date.now() - seconds * 1000);

async function idsOf(table: JobTable, limit?: number): Promise<string[]> {
  return (await table.claim(limit)).map(({ id }) => id);
}

/** How many blocks a statement reads. */
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

describe("claim while an old snapshot keeps the rows of others", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-snapshot" });

  it("JOB-4 JOB-25 one of an ordinary table looks at everything every time", async () => {
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

  it("JOB-4 JOB-25 one that is slow does too, unless the order may be relaxed", async () => {
    await using bench = await openBench(database.url);
    const { table, sent } = slow(bench, "exact");
    await bench.table.enqueueMany(
      ["a", "b"].map((id, at) => ({ id, task: "a", availableAt: past(100 - at) })),
    );
    expect(await idsOf(table)).to.deep.equal(["a"]);
    await bench.table.enqueue({ id: "earlier", task: "a", availableAt: past(1000) });
    expect(await idsOf(table)).to.deep.equal(["earlier"]);
    expect(sent.map(({ whole }) => whole)).to.deep.equal([true, true]);
  });

  it("JOB-4 JOB-25 steps over what is kept of 20,000 jobs, and reads next to nothing of it", async () => {
    await using bench = await openBench(database.url);
    await using other = await openClient(database.url);
    await other.query("begin isolation level repeatable read");
    await other.query(`select from ${bench.table.name}`);
    await bench.pool.query(
      `insert into ${bench.table.name} (id, task) select n::text, 'a' from generate_series(1, ${RUBBISH}) as n`,
    );
    await bench.pool.query(`delete from ${bench.table.name}`);
    const mine = slow(bench);
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

  it("JOB-4 finds an earlier job of somebody else within a second, and one of its own at once", async () => {
    await using bench = await openBench(database.url);
    const mine = slow(bench);
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

  it("JOB-16 JOB-22 finds whatever is due when there are fewer than it asks for, ended leases too", async () => {
    await using bench = await openBench(database.url);
    const mine = slow(bench);
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

  it("JOB-8 JOB-11 JOB-12 finds what was put back: released, failed, retried, given back by a transaction", async () => {
    await using bench = await openBench(database.url);
    const mine = slow(bench);
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
    // The two that are due after it, then the rest, and those before it.
    expect(await idsOf(mine.table, 2)).to.deep.equal(["e", "f"]);
    expect(await idsOf(mine.table, 10)).to.deep.equal(["c", "a", "b", "d"]);
    expect(mine.sent.map(({ whole }) => whole)).to.deep.equal([true, false, false]);
  });

  it("JOB-4 a claim in a transaction looks at everything, and what it found comes back first", async () => {
    await using bench = await openBench(database.url);
    const mine = slow(bench);
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

  it("JOB-4 a server whose clock goes back an hour keeps no job from it", async () => {
    await using bench = await openBench(database.url);
    const mine = slow(bench);
    mine.ahead = 3_600_000;
    await mine.table.enqueueMany(["a", "b"].map((id) => ({ id, task: "a" })));
    const before = await idsOf(mine.table);
    mine.ahead = 0;
    expect([...before, ...(await idsOf(mine.table))].toSorted()).to.deep.equal(["a", "b"]);
    expect(mine.sent.map(({ whole }) => whole)).to.deep.equal([true, false]);
  });

  it("JOB-4 two that claim at once get every job once, those that others queue in between for the past too", async () => {
    await using bench = await openBench(database.url);
    const claimers = [slow(bench), slow(bench)];
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
});
