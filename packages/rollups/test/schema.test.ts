import { testDatabase } from "@svc/dev-services";
import { defineRollup, type RollupOptions } from "@svc/rollups";
import { SchemaError } from "@svc/sql";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import type { Pool } from "pg";
import { EXPENSES, openPool } from "./support/expenses.ts";

describe("schema", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "rollup schema" });
  let pool: Pool;
  before(async () => {
    pool = openPool(database.url);
    await pool.query(
      "create table expenses (tenant_id text, spent_at timestamptz, day date, category text, amount numeric)",
    );
    await pool.query("create schema reports");
  });
  after(() => pool.end());
  const define = (options: Partial<RollupOptions>): ReturnType<typeof defineRollup> =>
    defineRollup({ ...EXPENSES, ...options });

  it("ROLL-1 ROLL-6 is made once, by any number of processes, and left alone then", async () => {
    const rollup = define({ table: "reports.spent" });
    const made = await Promise.all(Array.from({ length: 4 }, () => rollup.ensureSchema(pool)));
    expect(made.filter((each) => each === "created")).to.have.length(1);
    expect(await rollup.ensureSchema(pool)).to.equal("present");
    const nulls = "insert into reports.spent (month) values ('2026-01-01')";
    await pool.query(nulls);
    expect(await rejection(pool.query(nulls))).to.have.property("code", "23505");
  });

  it("ROLL-1 is made by its migrations and by its text, which may be run again", async () => {
    const rollup = define({ name: "by_hand" });
    for (const { statements } of [...rollup.migrations(), ...rollup.migrations()]) {
      for (const statement of statements) await pool.query(statement);
    }
    await pool.query(rollup.ddl());
    expect(await rollup.ensureSchema(pool)).to.equal("present");
    expect(rollup.migrations().map(({ name }) => name)).to.deep.equal(["0001_rollup_by_hand"]);
  });

  it("refuses a table that is another one", async () => {
    await pool.query("create table other (tenant_id text, month text)");
    expect(await rejection(define({ name: "other" }).ensureSchema(pool))).to.be.instanceOf(SchemaError);
    await define({
      name: "short",
      groupBy: { category: { column: "category", type: "varchar(8)" } },
    }).ensureSchema(pool);
    expect(await rejection(define({ name: "short" }).ensureSchema(pool))).to.be.instanceOf(SchemaError);
  });

  it("refuses a source that cannot be added up", async () => {
    const wrong: readonly (readonly [string, Partial<RollupOptions["source"]>])[] = [
      ["nothing is missing", { table: "nothing" }],
      ["no column expenses.at", { timeColumn: "at" }],
      ["must be timestamptz", { timeColumn: "day" }],
      ["no column expenses.account", { tenantColumn: "account" }],
    ];
    for (const [part, source] of wrong) {
      const error = await rejection(
        define({ name: "wrong", source: { ...EXPENSES.source, ...source } }).ensureSchema(pool),
      );
      expect(error).to.have.property("code", "ERR_SVC_ROLLUP_SCHEMA");
      expect(error).to.have.property("message").that.contains(part);
    }
  });

  it("ROLL-4 refuses a zone that only the server does not know", async () => {
    // Node and the server have their time zones from different places; no zone is surely missing in one of them.
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
