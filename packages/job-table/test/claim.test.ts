import { testDatabase } from "@svc/dev-services";
import { createJobTable, type Lease } from "@svc/job-table";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { type Bench, expire, openBench, openClient } from "./support/bench.ts";

const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

async function one(
  bench: Bench,
  job: { id?: string; maxAttempts?: number } = {},
): ReturnType<typeof claimOne> {
  await bench.table.enqueue({ task: "a", ...job });
  return claimOne(bench);
}

async function claimOne({ table }: Bench): Promise<Awaited<ReturnType<typeof table.claim>>[number]> {
  const [job] = await table.claim();
  if (job === undefined) throw new Error("there is no job");
  return job;
}

describe("a job table (claim, ack, fail and release)", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-claim" });

  it("JOB-5 JOB-14 marks a job as running, counts the attempt, leases it for 300 s and returns eight columns", async () => {
    await using bench = await openBench(database.url);
    const given = { requestId: "r-1", tenantId: "acme", trace: { traceparent: TRACEPARENT } };
    const { id } = await bench.table.enqueue({ task: "a", payload: { n: 1 }, maxAttempts: 5, ...given });
    const job = await claimOne(bench);
    expect(job).to.deep.include({ id, task: "a", payload: { n: 1 }, attempts: 1, maxAttempts: 5, ...given });
    const { rows } = await bench.pool.query<{ left: number; lease: boolean }>(
      `select date_part('epoch', locked_until - now()) as left, locked_until = $1::timestamptz as lease from ${bench.table.name}`,
      [job.lockedUntil],
    );
    expect(rows[0]?.lease, "the lease has microseconds").to.equal(true);
    expect(rows[0]?.left).to.be.within(200, 300);
    expect((await bench.rows())[0]).to.deep.include({ status: "running", attempts: 1 });
    expect(await bench.table.claim(), "a job that is leased").to.deep.equal([]);
  });

  it("JOB-4 returns due jobs in the order of available_at, and no others", async () => {
    await using bench = await openBench(database.url);
    const at = (ms: number): Date => new Date(Date.now() + ms);
    await bench.table.enqueue({ id: "later", task: "a", availableAt: at(3_600_000) });
    await bench.table.enqueue({ id: "delayed", task: "a", delaySeconds: 3600 });
    await bench.table.enqueue({ id: "second", task: "a", availableAt: at(-2_000_000) });
    await bench.table.enqueue({ id: "third", task: "a" });
    await bench.table.enqueue({ id: "first", task: "a", availableAt: at(-3_000_000) });
    expect((await bench.table.claim(2)).map(({ id }) => id)).to.deep.equal(["first", "second"]);
    expect((await bench.table.claim(10)).map(({ id }) => id)).to.deep.equal(["third"]);
  });

  it("JOB-4 claims from a table with the name of a part of the statement", async () => {
    for (const name of ["pending", "expired", "exhausted", "due"]) {
      await using bench = await openBench(database.url, { name });
      expect((await one(bench, { id: "a" })).id, name).to.equal("a");
    }
  });

  it("JOB-4 returns each job to one of 8 concurrent claims, and skips locked rows", async () => {
    await using bench = await openBench(database.url);
    await bench.table.enqueueMany(Array.from({ length: 400 }, () => ({ task: "a" })));
    await using other = await openClient(database.url);
    await other.query("begin");
    const held = await other.query<{ id: string }>(`select id from ${bench.table.name} limit 3 for update`);
    const seen: string[] = [];
    const claimer = async (): Promise<void> => {
      for (;;) {
        const jobs = await bench.table.claim(7);
        if (jobs.length === 0) return;
        seen.push(...jobs.map(({ id }) => id));
      }
    };
    await Promise.all(Array.from({ length: 8 }, claimer));
    expect(new Set(seen).size).to.equal(397);
    expect(seen).to.have.lengthOf(397);
    expect(held.rows.some(({ id }) => seen.includes(id))).to.equal(false);
  });

  it("JOB-6 JOB-16 JOB-25 claims jobs with expired leases again, in the order of available_at", async () => {
    await using bench = await openBench(database.url);
    await bench.table.enqueue({ id: "old", task: "a", availableAt: new Date(1e12) });
    await claimOne(bench);
    await bench.table.enqueue({ id: "older", task: "a", availableAt: new Date(9e11) });
    await bench.table.enqueue({ id: "young", task: "a" });
    await expire(bench);
    const again = await bench.table.claim(10);
    expect(again.map(({ id, attempts }) => [id, attempts])).to.deep.equal([
      ["older", 1],
      ["old", 2],
      ["young", 1],
    ]);
  });

  it("JOB-4 JOB-25 claims the earliest job first with limit 1, pending or with an expired lease", async () => {
    await using bench = await openBench(database.url);
    await bench.table.enqueue({ id: "second", task: "a", availableAt: new Date(1e12) });
    await claimOne(bench);
    await bench.table.enqueue({ id: "first", task: "a", availableAt: new Date(9e11) });
    await bench.table.enqueue({ id: "third", task: "a", availableAt: new Date(11e11) });
    await expire(bench);
    const order: string[] = [];
    for (let claims = 0; claims < 3; claims++) order.push((await claimOne(bench)).id);
    expect(order).to.deep.equal(["first", "second", "third"]);
  });

  it("JOB-22 marks a job as dead when its lease expired on the last attempt, and does not return it", async () => {
    await using bench = await openBench(database.url);
    await one(bench, { id: "killer", maxAttempts: 2 });
    await expire(bench);
    expect(await claimOne(bench)).to.include({ id: "killer", attempts: 2 });
    await bench.table.enqueue({ id: "next", task: "a" });
    await expire(bench);
    expect((await bench.table.claim(1)).map(({ id }) => id)).to.deep.equal(["next"]);
    expect(await bench.table.claim(10)).to.deep.equal([]);
    const [killer] = await bench.table.dead();
    expect(killer).to.include({ id: "killer", attempts: 2, lastError: "lease expired on the last attempt" });
  });

  it("JOB-7 deletes the row on ack", async () => {
    await using bench = await openBench(database.url);
    const job = await one(bench);
    await bench.table.enqueue({ id: "other", task: "a" });
    expect(await bench.table.ack(job)).to.equal(true);
    expect((await bench.rows()).map(({ id }) => id)).to.deep.equal(["other"]);
    expect(await bench.table.ack(job), "a second time").to.equal(false);
  });

  it("JOB-8 makes a failed job pending after min(2 x 2^(attempts - 1), 300) s, with its error", async () => {
    await using bench = await openBench(database.url);
    const attempts = [1, 2, 3, 4, 7, 8, 9, 2000];
    for (const n of attempts) {
      await bench.table.enqueue({ id: `${n}`, task: "a", availableAt: new Date(1e12) });
      await bench.pool.query(
        `update ${bench.table.name} set attempts = $2, max_attempts = 9999 where id = $1`,
        [`${n}`, n - 1],
      );
      expect(await bench.table.fail(await claimOne(bench), new Error("no"))).to.equal("pending");
    }
    const { rows } = await bench.pool.query<{ id: string; delay: number; ok: boolean }>(
      `select id, round(date_part('epoch', available_at - now()))::int as delay,
        status = 'pending' and locked_until is null and last_error = 'Error: no' as ok
       from ${bench.table.name} order by id::int`,
    );
    expect(rows.every(({ ok }) => ok)).to.equal(true);
    const expected = [2, 4, 8, 16, 128, 256, 300, 300];
    for (const [index, { delay }] of rows.entries()) {
      // Some of the delay has already passed, but a wrong exponent would halve or double it.
      expect(delay).to.be.within((expected[index] ?? 0) * 0.75 - 1, expected[index] ?? 0);
    }
  });

  it("JOB-9 JOB-10 marks a failed job as dead on the last attempt, or immediately with dead: true", async () => {
    await using bench = await openBench(database.url);
    expect(await bench.table.fail(await one(bench, { id: "last", maxAttempts: 1 }), "broke")).to.equal(
      "dead",
    );
    expect(await bench.table.fail(await one(bench, { id: "now" }), "unknown", { dead: true })).to.equal(
      "dead",
    );
    const rows = (await bench.rows()).map(({ id, status, locked_until, last_error }) => [
      id,
      status,
      locked_until,
      last_error,
    ]);
    expect(rows).to.deep.equal([
      ["last", "dead", null, "broke"],
      ["now", "dead", null, "unknown"],
    ]);
    expect(await bench.table.claim(10)).to.deep.equal([]);
  });

  it("JOB-11 makes a released job pending immediately without counting the attempt, never below 0", async () => {
    await using bench = await openBench(database.url);
    expect(await bench.table.release(await one(bench))).to.equal(true);
    expect((await bench.rows())[0]).to.deep.include({ status: "pending", attempts: 0, locked_until: null });
    const again = await claimOne(bench);
    expect(again.attempts).to.equal(1);
    await bench.pool.query(`update ${bench.table.name} set attempts = 0`);
    expect(await bench.table.release({ ...again, attempts: 0 })).to.equal(true);
    expect((await bench.rows())[0]).to.include({ attempts: 0 });
  });

  it("JOB-21 does not change another worker's job on ack, fail or release with a lost lease", async () => {
    await using bench = await openBench(database.url);
    const late = await one(bench, { id: "a" });
    await expire(bench);
    const owner = await claimOne(bench);
    const before = await bench.rows();
    expect(await bench.table.ack(late)).to.equal(false);
    expect(await bench.table.fail(late, "late")).to.equal("lost");
    expect(await bench.table.release(late)).to.equal(false);
    expect(await bench.rows()).to.deep.equal(before);
    expect(await bench.table.ack(owner)).to.equal(true);
  });

  it("JOB-21 does not change a new job with the same id and attempt count on ack, fail or release with a lost lease", async () => {
    await using bench = await openBench(database.url);
    const late = await one(bench, { id: "a" });
    await expire(bench);
    await bench.table.ack(await claimOne(bench));
    const next = await one(bench, { id: "a" });
    expect(next.attempts).to.equal(late.attempts);
    expect(await bench.table.ack(late)).to.equal(false);
    expect(await bench.table.fail(late, "late")).to.equal("lost");
    expect(await bench.table.release(late)).to.equal(false);
    expect(
      await bench.table.ack({ ...next, lockedUntil: next.lockedUntil.replace(/\d{3}Z$/, "000Z") }),
    ).to.equal(next.lockedUntil.endsWith("000Z"));
    expect(await bench.table.ack(next)).to.equal(!next.lockedUntil.endsWith("000Z"));
  });

  it("JOB-21 accepts a lease in a session with a different time zone and date style", async () => {
    await using bench = await openBench(database.url);
    const [a, b] = [await openClient(database.url), await openClient(database.url)];
    await a.query("set datestyle = 'sql, dmy'; set timezone = 'Asia/Kolkata'");
    await b.query("set datestyle = 'german'; set timezone = 'America/St_Johns'");
    await bench.table.enqueue({ task: "a" });
    await a.query("begin");
    const [job] = await bench.table.claim(1, { tx: a });
    await a.query("commit");
    await b.query("begin");
    expect(await bench.table.ack(job as Lease, { tx: b })).to.equal(true);
    await Promise.all([a.end(), b.end()]);
  });

  it("JOB-21 rejects writes with expired leases if another worker has claimed the job, for 1,000 jobs", async () => {
    await using bench = await openBench(database.url);
    await bench.table.enqueueMany(Array.from({ length: 1000 }, () => ({ task: "a" })));
    const late = await bench.table.claim(1000);
    await expire(bench);
    const late3 = [late.slice(0, 333), late.slice(333, 666), late.slice(666)];
    // The writes run after one claim and concurrently with another one.
    const before = await bench.table.claim(500);
    expect(before).to.have.lengthOf(500);
    const claiming = bench.table.claim(1000);
    const ends = await Promise.all([
      ...(late3[0] ?? []).map((job) => bench.table.ack(job)),
      ...(late3[1] ?? []).map(async (job) => (await bench.table.fail(job, "late")) !== "lost"),
      ...(late3[2] ?? []).map((job) => bench.table.release(job)),
    ]);
    const owned = new Set(before.map(({ id }) => id));
    expect(ends.filter((changed, n) => changed && owned.has(late[n]?.id ?? ""))).to.deep.equal([]);
    const owners = [...before, ...(await claiming)];
    // A write that ran before the last claim changed its job, so that claim did not return the job.
    expect(owners.length + ends.filter((changed) => changed).length).to.be.at.least(1000);
    const kept = await Promise.all(owners.map((job) => bench.table.ack(job)));
    expect(kept.every((held) => held)).to.equal(true);
  });

  it("claims and acknowledges a job in a caller's transaction, whose rollback undoes both", async () => {
    await using bench = await openBench(database.url);
    await using tx = await openClient(database.url);
    await bench.table.enqueue({ task: "a" });
    await tx.query("begin");
    const [job] = await bench.table.claim(1, { tx });
    expect(await bench.table.claim(), "other claims skip it").to.deep.equal([]);
    expect(await bench.table.ack(job as Lease, { tx })).to.equal(true);
    await tx.query("rollback");
    expect((await bench.rows())[0]).to.include({ status: "pending", attempts: 0 });
  });

  it("JOB-21 accepts every expiry time that the server can write, and rejects expiry times that it cannot read", async () => {
    await using bench = await openBench(database.url);
    await using tx = await openClient(database.url);
    await bench.table.enqueue({ id: "a", task: "a" });
    const { rows } = await bench.pool.query<{ moment: string }>(
      `select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as moment from (
        select generate_series('2023-12-31 00:00Z', '2025-01-01 00:00Z', interval '1 day - 1 microsecond')
        union all select unnest('{0001-01-01 00:00Z, 0100-03-01 00:00Z, 2000-02-29 23:59:59.999999Z,
          9999-12-31 23:59:59.999999Z, 2016-12-31 23:59:60Z, 2024-02-29 24:00Z}'::timestamptz[])
      ) as all_of_them (at)`,
    );
    expect(rows.length).to.be.greaterThan(370);
    for (const { moment } of rows) {
      await bench.pool.query(
        `update ${bench.table.name} set status = 'running', attempts = 1, locked_until = $1`,
        [moment],
      );
      expect(await bench.table.release({ id: "a", attempts: 1, lockedUntil: moment }), moment).to.equal(true);
    }
    await tx.query("begin");
    const wrong = { id: "a", attempts: 1, lockedUntil: "2026-02-30T00:00:00.000000Z" };
    const error = await rejection(bench.table.ack(wrong, { tx }));
    expect(error).to.include({ code: "ERR_SVC_JOB_ARGUMENT" });
    expect((await tx.query("select 1 as one")).rows, "the transaction continues").to.deep.equal([{ one: 1 }]);
    await tx.query("rollback");
  });

  it("rejects invalid limits and leases before anything is sent", async () => {
    const table = createJobTable({ db: { query: () => Promise.reject(new Error("sent")) } });
    for (const limit of [0, -1, 1.5, 1001, NaN]) {
      expect((await rejection(table.claim(limit))).message).to.equal(
        "limit must be a whole number from 1 to 1000",
      );
    }
    const lease = { id: "a", attempts: 1, lockedUntil: "2026-01-01T00:00:00.000000Z" };
    for (const wrong of [
      undefined,
      {},
      { ...lease, lockedUntil: "" },
      { ...lease, lockedUntil: "now'" },
      { ...lease, lockedUntil: "not-a-date" },
      { ...lease, lockedUntil: "2026-13-01T00:00:00Z" },
      { ...lease, lockedUntil: "2026-02-29T00:00:00Z" },
      { ...lease, lockedUntil: "1900-02-29T00:00:00Z" },
      { ...lease, lockedUntil: "2024-02-30T23:59:59.999999Z" },
      { ...lease, lockedUntil: "2026-04-31T12:00:00.123456Z" },
      { ...lease, lockedUntil: "2026-01-32T00:00:00Z" },
      { ...lease, lockedUntil: "2026-01-00T00:00:00Z" },
      { ...lease, lockedUntil: "0000-01-01T00:00:00Z" },
      { ...lease, lockedUntil: "2026-01-01T24:00:00.000001Z" },
      { ...lease, lockedUntil: "2026-01-01T25:00:00Z" },
      { ...lease, lockedUntil: "2026-01-01T23:60:00Z" },
      { ...lease, lockedUntil: "2026-01-01T23:59:61Z" },
      { ...lease, attempts: "1" },
      { ...lease, attempts: 2 ** 40 },
      { ...lease, id: "a\0" },
    ]) {
      for (const end of ["ack", "release"] as const) {
        expect(await rejection(table[end](wrong as Lease))).to.include({ code: "ERR_SVC_JOB_ARGUMENT" });
      }
      expect(await rejection(table.fail(wrong as Lease, "x"))).to.include({ code: "ERR_SVC_JOB_ARGUMENT" });
    }
  });
});
