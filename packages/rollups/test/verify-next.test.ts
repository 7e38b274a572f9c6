import { createDatabase, type Database } from "@svc/database";
import { openTestLogin, type OpenTestLogin, testDatabase } from "@svc/dev-services";
import { createJobTable, type JobTable } from "@svc/job-table";
import { defineRollup, type DriftedBucket, type Rollup, type VerifyTurn } from "@svc/rollups";
import { enableRowSecurity, withTransaction } from "@svc/sql";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { EXPENSES, type Expenses, openExpenses, openPool } from "./support/expenses.ts";

const range = { from: "2026-02-01", to: "2026-04-30" };
const at = "2026-03-10T12:00:00Z";

/** Runs all turns. Returns the number of tenants of each, and the buckets as `tenant month`. */
async function allTurns(
  { rollup, pool }: Pick<Expenses, "rollup" | "pool">,
  turn: Partial<VerifyTurn> = {},
): Promise<{ readonly turns: readonly number[]; readonly drift: readonly string[] }> {
  const turns: number[] = [];
  const drift: DriftedBucket[] = [];
  for (let after: string | undefined; ;) {
    const done = await rollup.verifyNext(pool, { ...range, ...turn, after });
    turns.push(done.tenants);
    drift.push(...done.drift);
    if (done.next === undefined) break;
    after = done.next;
  }
  const texts = drift.map(
    ({ tenant, month, repaired }) => `${tenant} ${month}${repaired ? " repaired" : ""}`,
  );
  return { turns, drift: texts.toSorted() };
}

/** Returns the pool, with the statements that begin a transaction recorded in `begun`. */
function recordingBegins(
  pool: Expenses["pool"],
): Pick<Expenses, "pool"> & { readonly begun: readonly string[] } {
  const begun: string[] = [];
  const recording = {
    async connect() {
      const client = await pool.connect();
      return {
        query: (text: string, values?: unknown[]) => {
          if (/^begin/i.test(text)) begun.push(text);
          return client.query(text, values);
        },
        release: (error?: Error) => client.release(error),
      };
    },
  };
  return { pool: recording as unknown as Expenses["pool"], begun };
}

describe("verifyNext()", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "rollup turns" });
  let made = 0;

  async function queue({ pool }: Pick<Expenses, "pool">): Promise<JobTable> {
    const jobs = createJobTable({ db: pool, name: `turn_jobs_${(made += 1)}` });
    await jobs.ensureSchema();
    return jobs;
  }

  async function refreshAll({ pool, rollup }: Expenses): Promise<void> {
    await rollup.rebuildAll(pool);
  }

  it("ROLL-2 compares tenants with rows, tenants with totals only, and rows without a tenant, in turns of any size", async () => {
    await using each = await openExpenses(database.url);
    for (const tenant of ["a", "b", "c", "d", null]) await each.add(tenant, at, "food", 1);
    await refreshAll(each);
    expect(await allTurns(each)).to.deep.equal({ turns: [5], drift: [] });
    expect(await allTurns(each, { tenants: 2 })).to.deep.equal({ turns: [2, 2, 1], drift: [] });

    // Change the rows without a refresh, also so that a tenant has no rows at all.
    await each.pool.query(`delete from ${each.source} where tenant_id in ('a', 'd')`);
    await each.add("b", "2026-04-10T12:00:00Z", "food", 1);
    await each.add("new", "2026-02-10T12:00:00Z", "food", 1);
    await each.add(null, at, "food", 1);
    const drift = ["a 2026-03-01", "b 2026-04-01", "d 2026-03-01", "new 2026-02-01", "null 2026-03-01"];
    for (const tenants of [1, 2, 3, 100]) {
      expect((await allTurns(each, { tenants })).drift, `${tenants} tenants`).to.deep.equal(drift);
    }
    expect((await allTurns(each, { from: "2026-04-01" })).drift).to.deep.equal(["b 2026-04-01"]);
  });

  it("compares each tenant in its own transaction", async () => {
    await using each = await openExpenses(database.url);
    for (const tenant of ["a", "b"]) await each.add(tenant, at, "food", 1);
    const { pool, begun } = recordingBegins(each.pool);
    expect((await each.rollup.verifyNext(pool, range)).tenants).to.equal(2);
    expect(begun).to.have.length(2);
  });

  it("ROLL-2 compares at most twelve months in one statement, and finds drift in each of several years", async () => {
    await using each = await openExpenses(database.url);
    const months = ["2024-01", "2024-12", "2025-01", "2026-02"];
    for (const month of months) await each.add("a", `${month}-10T12:00:00Z`, "food", 1);
    const years = { from: "2024-01-01", to: "2026-02-28" };
    const drift = months.map((month) => `a ${month}-01`);
    const { pool, begun } = recordingBegins(each.pool);
    expect((await allTurns({ rollup: each.rollup, pool }, years)).drift).to.deep.equal(drift);
    expect(begun).to.have.lengthOf(3);
    expect((await allTurns(each, { ...years, repair: true })).drift).to.deep.equal(
      drift.map((text) => `${text} repaired`),
    );
    expect((await allTurns(each, years)).drift).to.deep.equal([]);
  });

  it("compares tenants of every type and collation of the tenant column", async () => {
    const pool = openPool(database.url);
    try {
      for (const [type, tenants, tenantType] of [
        ["varchar(64)", ["acme", "ACME", "äther", "z"], "text"],
        ['text collate "C"', ["acme", "ACME", "äther", "z"], "text"],
        ["uuid", ["00000000-0000-4000-8000-000000000001", "f0000000-0000-4000-8000-000000000001"], "uuid"],
        ["integer", ["-5", "7", "10"], "integer"],
        ["bigint", ["7", "9007199254740993"], "bigint"],
      ] as const) {
        const name = `typed_${(made += 1)}`;
        await pool.query(
          `create table ${name} (tenant_id ${type}, spent_at timestamptz, category text, amount numeric)`,
        );
        const rollup = defineRollup({
          ...EXPENSES,
          name: `${name}_months`,
          source: { ...EXPENSES.source, table: name, tenantType },
        });
        await rollup.ensureSchema(pool);
        for (const tenant of tenants)
          await pool.query(`insert into ${name} values ($1, $2, 'food', 1)`, [tenant, at]);
        await rollup.rebuildAll(pool);
        await pool.query(`update ${name} set amount = 2`);
        expect((await allTurns({ rollup, pool })).turns, type).to.deep.equal([tenants.length]);
        const all = tenants.map((tenant) => `${tenant} 2026-03-01`).toSorted();
        expect((await allTurns({ rollup, pool }, { tenants: 1 })).drift, type).to.deep.equal(all);
        await pool.query(`delete from ${name}`);
        expect((await allTurns({ rollup, pool }, { tenants: 1 })).drift, type).to.deep.equal(all);
      }
    } finally {
      await pool.end();
    }
  });

  it("compares the whole table in one turn if rows have no tenant", async () => {
    const pool = openPool(database.url);
    try {
      await pool.query("create table visits (spent_at timestamptz, category text, amount numeric)");
      await pool.query("insert into visits values ($1, 'food', 1)", [at]);
      const source = { ...EXPENSES.source, table: "visits", tenantColumn: null };
      const rollup = defineRollup({ ...EXPENSES, name: "visit_months", source });
      await rollup.ensureSchema(pool);
      expect(await allTurns({ rollup, pool })).to.deep.equal({ turns: [1], drift: ["null 2026-03-01"] });
    } finally {
      await pool.end();
    }
  });

  it("continues after a tenant whose name is empty", async () => {
    await using each = await openExpenses(database.url);
    for (const tenant of ["", "a"]) await each.add(tenant, at, "food", 1);
    expect(await allTurns(each, { tenants: 1 })).to.deep.equal({
      turns: [1, 1, 0],
      drift: [" 2026-03-01", "a 2026-03-01"],
    });
  });

  it("ends the turn after the current tenant when the signal is aborted", async () => {
    await using each = await openExpenses(database.url);
    for (const tenant of ["a", "b", "c"]) await each.add(tenant, at, "food", 1);
    const signal = AbortSignal.abort();
    expect(await allTurns(each, { signal })).to.deep.equal({
      turns: [1, 1, 1],
      drift: ["a 2026-03-01", "b 2026-03-01", "c 2026-03-01"],
    });
  });

  it("ROLL-2 with repair, recomputes what differs, except for a group that is too long", async () => {
    await using each = await openExpenses(database.url, {
      groupBy: { category: { column: "category", type: "varchar(8)" } },
    });
    await each.add("a", at, "food", 1);
    await each.add("b", at, "much too long", 1);
    expect((await allTurns(each, { repair: true })).drift).to.deep.equal([
      "a 2026-03-01 repaired",
      "b 2026-03-01",
    ]);
    expect((await each.totals()).map(({ tenant_id: tenant, n }) => [tenant, n])).to.deep.equal([["a", 1]]);
    expect((await allTurns(each)).drift).to.deep.equal(["b 2026-03-01"]);
  });

  it("ROLL-2 counts a bucket whose job is dead, but no bucket whose refresh is pending or running", async () => {
    await using each = await openExpenses(database.url);
    const jobs = await queue(each);
    await withTransaction(each.pool, async (tx) => {
      await tx.query(
        `insert into ${each.source} (tenant_id, spent_at, category, amount) values ('a', $1, 'x', 1)`,
        [at],
      );
      await each.rollup.enqueueRefresh(jobs, { tenant: "a", at }, { tx });
    });
    await each.add("b", at, "food", 1);
    expect((await allTurns(each)).drift).to.deep.equal(["a 2026-03-01", "b 2026-03-01"]);
    expect((await allTurns(each, { jobs })).drift).to.deep.equal(["b 2026-03-01"]);
    expect((await allTurns(each, { jobs, repair: true })).drift).to.deep.equal(["b 2026-03-01 repaired"]);
    // The comparison neither queues a job nor retries a dead one.
    expect(await jobs.stats()).to.deep.equal({ pending: 1, running: 0, dead: 0 });
    const [job] = await jobs.claim(1);
    if (job === undefined) throw new Error("there is no job");
    expect((await allTurns(each, { jobs })).drift).to.deep.equal([]);
    await jobs.fail(job, new Error("broken"), { dead: true });
    expect((await allTurns(each, { jobs })).drift).to.deep.equal(["a 2026-03-01"]);
    expect(await jobs.stats()).to.deep.equal({ pending: 0, running: 0, dead: 1 });
    expect((await allTurns(each, { jobs, repair: true })).drift).to.deep.equal(["a 2026-03-01 repaired"]);
    expect((await allTurns(each, { jobs })).drift).to.deep.equal([]);
  });

  it("rejects invalid arguments", async () => {
    await using each = await openExpenses(database.url);
    for (const [wrong, message] of [
      [{ after: "elsewhere" }, "after must be the next of an earlier call of verifyNext()"],
      [{ after: 5 }, "after must be the next of an earlier call of verifyNext()"],
      [{ tenants: 0 }, "tenants must be a whole number from 1 to 10,000"],
      [{ tenants: 1.5 }, "tenants must be a whole number from 1 to 10,000"],
      [{ from: "2026-13-01" }, "from must be a local date YYYY-MM-DD in the years 1000 to 9998"],
      [{ fix: true }, 'unknown member "fix" in the last argument of verifyNext()'],
    ] as const) {
      const error = await rejection(each.rollup.verifyNext(each.pool, { ...range, ...(wrong as object) }));
      expect(error).to.have.property("code", "ERR_SVC_ROLLUP_ARGUMENT");
      expect(error.message).to.contain(message);
    }
  });

  it("rejects totals that were computed in another time zone", async () => {
    await using each = await openExpenses(database.url);
    await each.add("a", at, "food", 1);
    const { rollup, source } = each;
    const moved = defineRollup({
      ...EXPENSES,
      name: rollup.name,
      source: { ...EXPENSES.source, table: source },
      timeZone: "America/Lima",
    });
    expect(await rejection(moved.verifyNext(each.pool, range))).to.have.property(
      "code",
      "ERR_SVC_ROLLUP_ZONE",
    );
  });

  describe("with row security", () => {
    let login: OpenTestLogin;
    let db: Database;
    after(async () => {
      await db.stop();
      await login.drop();
    });
    const own = testDatabase({ name: "rollup turns security" });
    const of = (tenantTable?: string): Rollup =>
      defineRollup({ ...EXPENSES, source: { ...EXPENSES.source, tenantTable } });

    before(async () => {
      login = await openTestLogin({
        url: own.url,
        grants: ["grant usage, create on schema public to login"],
      });
      db = createDatabase({ url: login.url, max: 2 });
      await db.query(
        "create table expenses (tenant_id text, spent_at timestamptz, category text, amount numeric)",
      );
      await db.query("create table tenants (tenant_id text primary key)");
      await of().ensureSchema(db);
      for (const table of ["expenses", "expense_months"]) await enableRowSecurity(db, { table });
      for (const tenant of ["acme", "globex"]) {
        await db.query("insert into tenants values ($1)", [tenant]);
        await db.withTenant(tenant, async (tx) => {
          await tx.query("insert into expenses values ($1, $2, 'food', 5)", [tenant, at]);
          await of().refresh(tx, { tenant, at });
        });
      }
    });

    it("rejects when row security hides tenants, instead of skipping them", async () => {
      const error = await rejection(of().verifyNext(db, range));
      expect(error).to.have.property("code", "ERR_SVC_ROLLUP_TENANT");
      expect(error.message).to.contain("set source.tenantTable to a table that lists them");
    });

    it("ROLL-5 compares and repairs the tenants that tenantTable lists", async () => {
      const pool = db as never;
      expect(await allTurns({ rollup: of("tenants"), pool }, { tenants: 1 })).to.deep.equal({
        turns: [1, 1, 0],
        drift: [],
      });
      await db.withTenant("globex", (tx) => tx.query("update expenses set amount = 6"));
      const { drift } = await allTurns({ rollup: of("tenants"), pool }, { repair: true });
      expect(drift).to.deep.equal(["globex 2026-03-01 repaired"]);
      const query = (tx: Parameters<Rollup["query"]>[0]) =>
        of().query(tx, "globex", { ...range, measures: ["total"] });
      expect(await db.withTenant("globex", query)).to.deep.equal([
        { month: "2026-03-01", category: "food", total: "6" },
      ]);
    });
  });
});
