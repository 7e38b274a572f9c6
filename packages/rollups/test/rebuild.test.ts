import { testDatabase } from "@svc/dev-services";
import { defineRollup } from "@svc/rollups";
import { withTransaction } from "@svc/sql";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { Pool, types } from "pg";
import { EXPENSES, type Expenses, openClient, openExpenses } from "./support/expenses.ts";

describe("rebuilding and verifying totals", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "rollup rebuild" });

  async function filled(url: string): Promise<Expenses> {
    const each = await openExpenses(url);
    for (const month of ["01", "02", "03", "04"]) {
      await each.add("acme", `2026-${month}-10T12:00:00Z`, "food", 2);
      await each.add("globex", `2026-${month}-10T12:00:00Z`, "food", 3);
    }
    return each;
  }

  it("ROLL-5 ROLL-7 rebuild() recomputes all months of one tenant that a range of local dates touches", async () => {
    await using each = await filled(database.url);
    const { pool, rollup } = each;
    const done = await rollup.rebuild(pool, { tenant: "acme", from: "2026-02-28", to: "2026-03-01" });
    expect(done).to.deep.equal({ months: 2, written: 2, removed: 0 });
    expect((await each.totals()).map(({ month }) => month)).to.deep.equal(["2026-02-01", "2026-03-01"]);
    await pool.query(`delete from ${each.source} where tenant_id = 'acme'`);
    expect(
      await rollup.rebuild(pool, { tenant: "acme", from: "2025-12-31", to: "2026-12-31" }),
    ).to.deep.equal({
      months: 13,
      written: 0,
      removed: 2,
    });
  });

  it("ROLL-5 rebuild() works in the caller's transaction, and is rolled back with it", async () => {
    await using each = await filled(database.url);
    await using client = await openClient(database.url);
    const range = { tenant: "acme", from: "2026-01-01", to: "2026-12-31" };
    const failed = withTransaction(client, async (tx) => {
      expect(await each.rollup.rebuild(tx, range)).to.include({ months: 12, written: 4 });
      throw new Error("later");
    });
    expect(await rejection(failed)).to.have.property("message", "later");
    expect(await each.totals()).to.deep.equal([]);
    expect(await each.rollup.rebuild(client, range)).to.include({ months: 12, written: 4 });
  });

  it("ROLL-2 rebuildAll() recomputes all buckets, and ignores rows outside the years 1000 to 9998", async () => {
    await using each = await filled(database.url);
    await each.pool.query(
      `insert into ${each.source} (spent_at, amount) values ('infinity', 1), ('-infinity', 1), ('12000-01-01', 1), (null, 1)`.replace(
        ", (null, 1)",
        "",
      ),
    );
    await each.add(null, "1969-12-31T23:30:00Z", null, 7);
    expect(await each.rollup.rebuildAll(each.pool)).to.deep.equal({ written: 9, removed: 0 });
    expect((await each.totals()).at(-1)).to.deep.equal({
      tenant_id: null,
      month: "1970-01-01",
      category: null,
      total: 7,
      n: 1,
    });
    await each.pool.query(`truncate ${each.source}`);
    expect(await each.rollup.rebuildAll(each.pool)).to.deep.equal({ written: 0, removed: 9 });
    // In Berlin the year 9999 begins an hour before END, so the second row still counts.
    for (const at of ["9998-12-31T22:59:59Z", "9998-12-31T23:00:00Z", "9999-01-01T00:00:00Z"])
      await each.add("acme", at, null, 1);
    expect(await each.rollup.rebuildAll(each.pool)).to.deep.equal({ written: 2, removed: 0 });
    for (const at of ["9998-12-31T22:00:00Z", "9998-12-31T23:00:00Z"]) {
      const done = withTransaction(each.pool, (tx) => each.rollup.refresh(tx, { tenant: "acme", at }));
      expect(await done).to.include({ written: 0, removed: 0 });
    }
  });

  it("ROLL-2 verify() reports totals that differ from their rows, have no rows or are missing", async () => {
    await using each = await filled(database.url);
    const { pool, rollup } = each;
    await rollup.rebuildAll(pool);
    await pool.query(
      `update ${rollup.table} set total = 7 where tenant_id = 'acme' and month = '2026-01-01'`,
    );
    await pool.query(`delete from ${rollup.table} where tenant_id = 'acme' and month = '2026-02-01'`);
    await pool.query(`insert into ${rollup.table} values ('acme', '2026-03-01', null, 1, 1)`);
    const range = { tenant: "acme", from: "2026-01-31", to: "2026-04-01" };
    expect(await rollup.verify(pool, range)).to.deep.equal({
      drift: [
        {
          month: "2026-01-01",
          group: { category: "food" },
          expected: { total: "2", n: "1" },
          stored: { total: "7", n: "1" },
        },
        { month: "2026-02-01", group: { category: "food" }, expected: { total: "2", n: "1" }, stored: null },
        { month: "2026-03-01", group: { category: null }, expected: null, stored: { total: "1", n: "1" } },
      ],
      warnings: [],
    });
    expect(await rollup.rebuild(pool, range)).to.deep.equal({ months: 4, written: 2, removed: 1 });
    expect((await rollup.verify(pool, range)).drift).to.deep.equal([]);
    expect((await rollup.verify(pool, { ...range, tenant: "globex" })).drift).to.deep.equal([]);
  });

  it("verify() reports differences when the driver returns bigint values", async () => {
    await using each = await openExpenses(database.url, {
      groupBy: { id: { column: "id", type: "bigint" } },
    });
    await each.add("acme", "2026-01-10T12:00:00Z", null, 1);
    const exact = new Pool({
      connectionString: database.url,
      types: { getTypeParser: (oid, format) => (oid === 20 ? BigInt : types.getTypeParser(oid, format)) },
    });
    const range = { tenant: "acme", from: "2026-01-01", to: "2026-01-31" };
    const { drift } = await each.rollup.verify(exact, range);
    await exact.end();
    expect(drift).to.have.length(1);
    expect(drift[0]?.group).to.deep.equal({ id: 1n });
  });

  it("verify() warns when the source has no index for reading a month", async () => {
    await using each = await filled(database.url);
    const { pool, rollup, source } = each;
    const range = { tenant: null, from: "2026-01-01", to: "2026-01-01" };
    expect((await rollup.verify(pool, range)).warnings).to.deep.equal([]);
    await pool.query(`drop index ${source}_tenant_id_spent_at_idx`);
    await pool.query(`create index on ${source} (spent_at, tenant_id)`);
    await pool.query(`create index on ${source} (tenant_id, spent_at) where amount > 0`);
    const { warnings } = await rollup.verify(pool, range);
    expect(warnings).to.have.length(1);
    const [, advice = ""] = (warnings[0] ?? "").split(": ");
    expect(rollup.ddl()).to.contain(`-- ${advice};`);
    await pool.query(advice);
    expect((await rollup.verify(pool, range)).warnings).to.deep.equal([]);
  });

  it("ROLL-4 rejects calls with another time zone until rebuildAll() was called", async () => {
    await using each = await filled(database.url);
    const { pool, rollup } = each;
    await rollup.rebuildAll(pool);
    await each.add("acme", "2026-01-31T23:30:00Z", "food", 1);
    await rollup.rebuildAll(pool);
    const options = { ...EXPENSES, name: rollup.name, source: { ...EXPENSES.source, table: each.source } };
    const moved = defineRollup({ ...options, timeZone: "UTC" });
    expect(await moved.ensureSchema(pool)).to.equal("present");
    const at = "2026-01-10T12:00:00Z";
    const range = { from: "2026-01-01", to: "2026-12-31" };
    const zone = async (attempt: Promise<unknown>): Promise<void> => {
      const error = await rejection(attempt);
      expect(error).to.have.property("code", "ERR_SVC_ROLLUP_ZONE");
      expect(error).to.have.property("message").that.contains("rebuildAll()");
    };
    await zone(withTransaction(pool, (tx) => moved.refresh(tx, { tenant: "acme", at })));
    await zone(moved.rebuild(pool, { tenant: "acme", ...range }));
    await zone(moved.verify(pool, { tenant: "acme", ...range }));
    await zone(moved.query(pool, "acme", range));
    await zone(moved.query(pool, "nobody", range));
    expect(await moved.rebuildAll(pool)).to.deep.equal({ written: 2, removed: 0 });
    const totals = await moved.query(pool, "acme", { from: "2026-01-01", to: "2026-02-28", measures: ["n"] });
    expect(totals.map(({ n }) => n)).to.deep.equal(["2", "1"]);
    await zone(withTransaction(pool, (tx) => rollup.refresh(tx, { tenant: "acme", at })));
    // Zone names are case-insensitive.
    const shouting = defineRollup({ ...options, timeZone: "utc" });
    await withTransaction(pool, (tx) => shouting.refresh(tx, { tenant: "acme", at }));
  });

  it("ROLL-7 rebuild() and verify() reject invalid ranges before sending a statement", async () => {
    await using each = await openExpenses(database.url);
    const silent = { query: () => Promise.reject(new Error("sent")) };
    const wrong: unknown[] = [
      undefined,
      { tenant: "acme", from: "2026-01-01" },
      { tenant: "acme", from: "2026-02-01", to: "2026-01-31" },
      { tenant: "acme", from: "1000-01-01", to: "2026-01-31" },
      { tenant: "acme", from: "2026-02-29", to: "2026-03-31" },
      { tenant: "acme", from: "2026-01", to: "2026-03" },
      { tenant: "acme", from: "2026-01-01T00:00:00Z", to: "2026-03-31" },
      { tenant: "acme", from: new Date(), to: new Date() },
      { tenant: "*x".repeat(200), from: "2026-01-01", to: "2026-03-31" },
      { tenant: "acme", from: "2026-01-01", to: "2026-03-31", zone: "UTC" },
    ];
    for (const range of wrong as { tenant: string; from: string; to: string }[]) {
      for (const attempt of [each.rollup.rebuild(silent, range), each.rollup.verify(silent, range)]) {
        expect(await rejection(attempt), JSON.stringify(range)).to.have.property(
          "code",
          "ERR_SVC_ROLLUP_ARGUMENT",
        );
      }
    }
  });
});
