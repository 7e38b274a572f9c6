import { testDatabase } from "@svc/dev-services";
import { defineRollup, type RollupQuery } from "@svc/rollups";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { type Expenses, openExpenses } from "./support/expenses.ts";

describe("query()", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "rollup query" });
  let each: Expenses;
  before(async () => {
    each = await openExpenses(database.url, {
      groupBy: {
        category: { column: "category" },
        kind: { column: "id", type: "boolean" },
      },
      measures: {
        total: { sql: "sum(amount)", type: "numeric(12, 2)" },
        n: { sql: "count(*) filter (where amount > 0)", type: "bigint" },
        least: { sql: "min(amount)", type: "numeric" },
        most: { sql: "max(amount)", type: "double precision" },
        kinds: { sql: "count(distinct amount)", type: "integer", nonAdditive: true },
      },
      timeZone: "UTC",
    });
    for (const [month, category, amount] of [
      ["01", "food", 1.005],
      ["01", "food", 4],
      ["01", null, 2],
      ["02", "food", 3],
      ["03", "fuel", 9],
    ] as const) {
      await each.add("acme", `2026-${month}-10T12:00:00Z`, category, amount);
    }
    await each.add("globex", "2026-01-10T12:00:00Z", "food", 100);
    await each.rollup.rebuildAll(each.pool);
  });
  after(() => each[Symbol.asyncDispose]());
  const year = { from: "2026-01-15", to: "2026-12-31" };
  const query = (given: RollupQuery): Promise<unknown> => each.rollup.query(each.pool, "acme", given);

  it("ROLL-1 returns the totals of a tenant as stored, by month and groups", async () => {
    expect(await query({ from: "2026-01-15", to: "2026-01-16" })).to.deep.equal([
      {
        month: "2026-01-01",
        category: "food",
        kind: true,
        total: "5.01",
        n: "2",
        least: "1.005",
        most: 4,
        kinds: 2,
      },
      {
        month: "2026-01-01",
        category: null,
        kind: true,
        total: "2.00",
        n: "1",
        least: "2",
        most: 2,
        kinds: 1,
      },
    ]);
    expect(await each.rollup.query(each.pool, "nobody", year)).to.deep.equal([]);
    expect(await each.rollup.query(each.pool, null, year)).to.deep.equal([]);
  });

  it("combines the totals of months and groups as each measure defines", async () => {
    const measures = ["total", "n", "least", "most"];
    expect(await query({ ...year, by: ["category"], measures })).to.deep.equal([
      { category: "food", total: "8.01", n: "3", least: "1.005", most: 4 },
      { category: "fuel", total: "9.00", n: "1", least: "9", most: 9 },
      { category: null, total: "2.00", n: "1", least: "2", most: 2 },
    ]);
    expect(await query({ ...year, by: ["month"], measures: ["n"] })).to.deep.equal([
      { month: "2026-01-01", n: "3" },
      { month: "2026-02-01", n: "1" },
      { month: "2026-03-01", n: "1" },
    ]);
    expect(await query({ ...year, by: [], measures: ["total"] })).to.deep.equal([{ total: "19.01" }]);
    expect(await query({ from: "2027-01-01", to: "2027-01-01", by: [], measures: ["total"] })).to.deep.equal(
      [],
    );
  });

  it("returns sums of months that are too large for the column of one month", async () => {
    await using full = await openExpenses(database.url, {
      measures: { total: { sql: "sum(amount)", type: "numeric(3, 1)" } },
    });
    for (const month of ["01", "02"]) await full.add("acme", `2026-${month}-10T12:00:00Z`, "food", 90);
    await full.rollup.rebuildAll(full.pool);
    expect(await full.rollup.query(full.pool, "acme", { ...year, by: [] })).to.deep.equal([
      { total: "180.0" },
    ]);
  });

  it("rejects a non-additive measure when the query combines totals, and returns it otherwise", async () => {
    const error = await rejection(query({ ...year, by: ["month"] }));
    expect(error).to.have.property("code", "ERR_SVC_ROLLUP_ARGUMENT");
    expect(error).to.have.property("message").that.contains("kinds is not additive");
    expect(await query({ ...year, by: ["category", "kind", "month"], measures: ["kinds"] })).to.have.length(
      4,
    );
  });

  it("rejects unknown groups and measures, and other invalid queries", async () => {
    const wrong: unknown[] = [
      undefined,
      { ...year, by: ["colour"] },
      { ...year, by: ["total"] },
      { ...year, by: ['category"; drop table x; --'] },
      { ...year, by: ["__proto__"] },
      { ...year, by: ["tenant_id"] },
      { ...year, by: "month" },
      { ...year, by: [["month"]] },
      { ...year, by: ["month", "month"] },
      { ...year, measures: ["category"] },
      { ...year, measures: [] },
      { ...year, measures: [null] },
      { ...year, limit: 3 },
      { from: "2026-01-01" },
      { from: "2026-13-01", to: "2026-13-01" },
    ];
    for (const given of wrong) {
      const error = await rejection(query(given as RollupQuery));
      expect(error, JSON.stringify(given)).to.have.property("code", "ERR_SVC_ROLLUP_ARGUMENT");
    }
    const error = await rejection(each.rollup.query(each.pool, undefined as unknown as string, year));
    expect(error).to.have.property("code", "ERR_SVC_ROLLUP_ARGUMENT");
  });

  it("rejects with ERR_SVC_ROLLUP_SCHEMA when ensureSchema() was never called", async () => {
    await each.pool.query("create table bare (tenant_id text, month date, n bigint)");
    await each.pool.query("insert into bare values ('acme', '2026-01-01', 1)");
    const bare = defineRollup({
      name: "bare",
      source: { table: each.source, tenantColumn: "tenant_id", timeColumn: "spent_at" },
      measures: { n: { sql: "count(*)", type: "bigint" } },
      timeZone: "UTC",
    });
    const error = await rejection(bare.query(each.pool, "acme", year));
    expect(error).to.have.property("code", "ERR_SVC_ROLLUP_SCHEMA");
  });
});
