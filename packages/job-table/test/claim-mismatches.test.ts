import { testDatabase } from "@svc/dev-services";
import { createJobTable, defineTasks, type JobTable } from "@svc/job-table";
import { withMethods } from "@svc/sql";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import type { Pool } from "pg";
import { z } from "zod";
import { openPool } from "./support/bench.ts";
import { storedIn } from "./support/typed-table.ts";

const tasks = defineTasks({ a: z.object({ of: z.string() }) });

describe("claim() of jobs with payloads that do not match", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-claim-mismatches" });
  let pool: Pool;
  let name: string;
  let tables = 0;
  before(() => {
    pool = openPool(database.url);
  });
  beforeEach(() => {
    tables += 1;
    name = `mismatches_${tables}`;
  });
  after(() => pool.end());

  const typed = (db: Pool = pool): JobTable<{ a: { of: string } }> => createJobTable({ db, name, tasks });

  /** Queues jobs without a check; the first ones do not match. */
  async function queue(wrong: number, right: number): Promise<void> {
    const table = createJobTable({ db: pool, name });
    await table.ensureSchema();
    const job = (of: unknown, index: number) => ({
      task: "a",
      payload: { of },
      availableAt: new Date(1_700_000_000_000 + index),
    });
    const payloads = [
      ...Array.from({ length: wrong }, (_, n) => n),
      ...Array.from({ length: right }, (_, n) => `${n}`),
    ];
    await table.enqueueMany(payloads.map(job));
  }

  it("returns other due jobs in their place", async () => {
    await queue(3, 5);
    const table = typed();
    const seen: unknown[] = [];
    for (;;) {
      const jobs = await table.claim(1);
      if (jobs.length === 0) break;
      for (const job of jobs) {
        seen.push(job.payload);
        await table.ack(job);
      }
    }
    expect(seen).to.deep.equal(["0", "1", "2", "3", "4"].map((of) => ({ of })));
    expect((await storedIn(pool, table)).map(({ attempts, status }) => [attempts, status])).to.deep.equal(
      Array(3).fill([1, "pending"]),
    );
  });

  it("returns no more jobs than the limit, in the order of their times", async () => {
    await queue(3, 5);
    const jobs = await typed().claim(4);
    expect(jobs.map(({ payload }) => payload)).to.deep.equal(["0", "1", "2", "3"].map((of) => ({ of })));
    const stored = await storedIn(pool, { name });
    expect(stored.filter(({ status }) => status === "running")).to.have.length(4);
  });

  it("claims other jobs in the caller's transaction, whose rollback undoes all claims", async () => {
    await queue(2, 1);
    const client = await pool.connect();
    await client.query("begin");
    expect(await typed().claim(1, { tx: client })).to.have.length(1);
    await client.query("rollback");
    client.release();
    expect((await storedIn(pool, { name })).map(({ attempts }) => attempts)).to.deep.equal([0, 0, 0]);
  });

  it("returns no job after 100 statements that found only mismatched jobs", async () => {
    await queue(101, 1);
    const table = typed();
    expect(await table.claim(1)).to.deep.equal([]);
    expect(await table.claim(1)).to.have.length(1);
  });

  it("returns the matching jobs when a failure cannot be recorded, and rejects if no job matches", async () => {
    await queue(1, 1);
    const query = (text: string, values: unknown[]): Promise<unknown> =>
      text.includes("last_error = lease.error") ? Promise.reject(new Error("no")) : pool.query(text, values);
    const failing = withMethods(pool, {
      query,
      async connect() {
        const client = await pool.connect();
        return withMethods(client, { query });
      },
    });
    const table = typed(failing);
    expect((await table.claim(2)).map(({ payload }) => payload)).to.deep.equal([{ of: "0" }]);
    await pool.query(`update ${name} set status = 'pending', locked_until = null`);
    expect((await rejection(table.claim(1))).message).to.equal("no");
  });
});
