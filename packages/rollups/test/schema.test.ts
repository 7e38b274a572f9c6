import { testDatabase } from "@svc/dev-services";
import { defineRollup, type RollupOptions } from "@svc/rollups";
import { SchemaError, withTransaction } from "@svc/sql";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import type { Pool } from "pg";
import { EXPENSES, openPool } from "./support/expenses.ts";

describe("the schema of a rollup", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "rollup schema" });
  let pool: Pool;
  before(async () => {
    pool = openPool(database.url);
    await pool.query(
      "create collation nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
    );
    await pool.query(
      "create table expenses (tenant_id text, spent_at timestamptz, day date, category text, amount numeric, nocase text collate nocase)",
    );
    await pool.query("create schema reports");
  });
  after(() => pool.end());
  const define = (options: Partial<RollupOptions>): ReturnType<typeof defineRollup> =>
    defineRollup({ ...EXPENSES, ...options });

  it("ROLL-1 ROLL-6 is created once when several calls run concurrently, and is unchanged by later calls", async () => {
    const rollup = define({ table: "reports.spent" });
    const made = await Promise.all(Array.from({ length: 4 }, () => rollup.ensureSchema(pool)));
    expect(made.filter((each) => each === "created")).to.have.length(1);
    expect(await rollup.ensureSchema(pool)).to.equal("present");
    const nulls = "insert into reports.spent (month) values ('2026-01-01')";
    await pool.query(nulls);
    expect(await rejection(pool.query(nulls))).to.have.property("code", "23505");
  });

  it("ROLL-1 can be created by its migrations or its SQL script, even repeatedly", async () => {
    const rollup = define({ name: "by_hand" });
    for (const { statements } of [...rollup.migrations(), ...rollup.migrations()]) {
      for (const statement of statements) await pool.query(statement);
    }
    await pool.query(rollup.ddl());
    expect(await rollup.ensureSchema(pool)).to.equal("present");
    expect(rollup.migrations().map(({ name }) => name)).to.deep.equal(["0001_rollup_by_hand"]);
  });

  it("is rejected when an existing table differs from the definition", async () => {
    await pool.query("create table other (tenant_id text, month text)");
    expect(await rejection(define({ name: "other" }).ensureSchema(pool))).to.be.instanceOf(SchemaError);
    const month = define({ name: "grouped" });
    await month.ensureSchema(pool);
    const ungrouped = define({ name: "grouped", groupBy: {} });
    const groups = await rejection(ungrouped.ensureSchema(pool));
    expect(groups).to.have.property("code", "ERR_SVC_ROLLUP_SCHEMA");
    expect(groups).to.have.property("message").that.contains("by tenant_id, month, category, not by");
    const at = "2026-01-10T00:00:00Z";
    const refreshed = withTransaction(pool, (tx) => ungrouped.refresh(tx, { tenant: "acme", at }));
    expect(await rejection(refreshed)).to.have.property("code", "ERR_SVC_ROLLUP_SCHEMA");
    await define({
      name: "short",
      groupBy: { category: { column: "category", type: "varchar(8)" } },
    }).ensureSchema(pool);
    expect(await rejection(define({ name: "short" }).ensureSchema(pool))).to.be.instanceOf(SchemaError);
  });

  it("is not created if the source's table, columns or condition are missing or unsuitable", async () => {
    const wrong: readonly (readonly [string, Partial<RollupOptions["source"]>])[] = [
      ["nothing is missing", { table: "nothing" }],
      ["expenses has no column at", { timeColumn: "at" }],
      ["must be timestamptz", { timeColumn: "day" }],
      ["expenses has no column account", { tenantColumn: "account" }],
      ["expenses.nocase treats different strings as equal", { tenantColumn: "nocase" }],
      ["operator does not exist: text = uuid", { tenantType: "uuid" }],
      ["there is no parameter $1", { where: "category = $1" }],
    ];
    for (const [part, source] of wrong) {
      const error = await rejection(
        define({ name: "wrong", source: { ...EXPENSES.source, ...source } }).ensureSchema(pool),
      );
      expect(error).to.have.property("code", "ERR_SVC_ROLLUP_SCHEMA");
      expect(error).to.have.property("message").that.contains(part);
    }
  });

  it("is not created for groups and measures that the server cannot compute", async () => {
    const n = (sql: string, type = "bigint", more: object = {}): Partial<RollupOptions> => ({
      measures: { n: { sql, type, ...more } },
    });
    const wrong: readonly (readonly [string, Partial<RollupOptions>])[] = [
      ["column source.kind does not exist", { groupBy: { kind: { column: "kind" } } }],
      ['type "bigserial" does not exist', n("count(*)", "bigserial")],
      ["must appear in the GROUP BY clause", n("amount", "numeric", { combine: "sum" })],
      ["function sum(text) does not exist", n("count(*)", "text")],
      ["equality operator for type json", n("json_agg(amount)", "json", { nonAdditive: true })],
    ];
    for (const [part, options] of wrong) {
      const error = await rejection(define({ name: "wrong", ...options }).ensureSchema(pool));
      expect(error).to.have.property("code", "ERR_SVC_ROLLUP_SCHEMA");
      expect(error).to.have.property("message").that.contains(part);
    }
    const where = "amount > 0 -- ) what counts";
    const source = { ...EXPENSES.source, where };
    expect(await define({ name: "commented", source }).ensureSchema(pool)).to.equal("created");
  });

  it("is rejected when totals have fewer digits than their measure, or a key has a nondeterministic collation", async () => {
    const total = (type: string): RollupOptions => ({
      ...EXPENSES,
      name: "digits",
      measures: { total: { sql: "sum(amount)", type } },
    });
    await defineRollup(total("numeric(10, 2)")).ensureSchema(pool);
    expect(await defineRollup(total("numeric(10,2)")).ensureSchema(pool)).to.equal("present");
    for (const type of ["numeric(12, 4)", "decimal(10)", "numeric"]) {
      const error = await rejection(defineRollup(total(type)).ensureSchema(pool));
      expect(error).to.have.property("code", "ERR_SVC_ROLLUP_SCHEMA");
      expect(error).to.have.property("message").that.contains(`digits.total is numeric(10,2)`);
    }
    await pool.query(
      "create table loose (tenant_id text, month date, category varchar(64) collate nocase, total numeric, n bigint)",
    );
    await pool.query("create unique index on loose (tenant_id, month, category) nulls not distinct");
    expect(await rejection(define({ name: "loose" }).ensureSchema(pool))).to.be.instanceOf(SchemaError);
  });

  it("makes methods reject when it was never created, or when the time column is a date", async () => {
    const never = define({ name: "never", table: "reports.never" });
    const range = { from: "2026-01-01", to: "2026-01-31" };
    const moment = { tenant: "acme", at: "2026-01-10T00:00:00Z" };
    const queue = { enqueue: () => Promise.reject(new Error("queued")) };
    const empty = define({ name: "empty", table: "nowhere.empty" });
    const byDay = define({ name: "by_day", source: { ...EXPENSES.source, timeColumn: "day" } });
    for (const { statements } of byDay.migrations()) {
      for (const statement of statements) await pool.query(statement);
    }
    for (const attempt of [
      () => never.query(pool, "acme", range),
      () => empty.query(pool, "acme", range),
      () => never.verify(pool, { tenant: "acme", ...range }),
      () => never.rebuildAll(pool),
      () => withTransaction(pool, (tx) => never.refresh(tx, moment)),
      () => withTransaction(pool, (tx) => empty.enqueueRefresh(queue, moment, { tx })),
      // The month of a date would depend on the session's time zone.
      () => withTransaction(pool, (tx) => byDay.refresh(tx, moment)),
      () => byDay.verify(pool, { tenant: "acme", ...range }),
      () => byDay.rebuildAll(pool),
    ]) {
      expect(await rejection(attempt()), String(attempt)).to.have.property("code", "ERR_SVC_ROLLUP_SCHEMA");
    }
  });

  it("ROLL-4 is not created for a time zone that only Node knows", async () => {
    // Fake the server error: no zone is certain to be missing in the server's time zone data but present in Node's.
    const rollup = define({ name: "zoned" });
    const unknown = {
      query: () =>
        Promise.reject(
          Object.assign(new Error('time zone "Europe/Berlin" not recognized'), { code: "22023" }),
        ),
    };
    const refreshed = rollup.refresh(unknown, { tenant: "a", at: new Date(0) });
    expect(await rejection(refreshed)).to.have.property("code", "ERR_SVC_ROLLUP_ZONE");
    expect(await rejection(rollup.ensureSchema(unknown))).to.have.property("code", "ERR_SVC_ROLLUP_ZONE");
  });
});
