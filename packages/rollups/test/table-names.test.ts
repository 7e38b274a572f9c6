import { testDatabase } from "@svc/dev-services";
import { defineRollup } from "@svc/rollups";
import { withTransaction } from "@svc/sql";
import { expect } from "chai";
import type { Pool } from "pg";
import { openPool } from "./support/expenses.ts";

describe("tables with the name of a part of a statement", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "rollup names" });
  let pool: Pool;
  before(() => {
    pool = openPool(database.url);
  });
  after(() => pool.end());

  const range = { from: "2026-03-01", to: "2026-03-31" };
  const at = "2026-03-10T12:00:00Z";
  const NAMES =
    "guard passed fresh fault fits changed gone written kept months series expected stored drift span svc_months svc_tenants";

  async function check(source: string, totals: string): Promise<void> {
    await pool.query(`create table ${source} (tenant_id text, at timestamptz)`);
    const rollup = defineRollup({
      name: totals,
      source: { table: source, tenantColumn: "tenant_id", timeColumn: "at" },
      measures: { n: { sql: "count(*)", type: "bigint" } },
      timeZone: "UTC",
    });
    await rollup.ensureSchema(pool);
    await withTransaction(pool, async (tx) => {
      await tx.query(`insert into ${source} values ('acme', $1)`, [at]);
      expect(await rollup.refresh(tx, { tenant: "acme", at })).to.include({ written: 1 });
    });
    expect((await rollup.verify(pool, { tenant: "acme", ...range })).drift).to.deep.equal([]);
    expect(await rollup.verifyNext(pool, range)).to.include({ tenants: 1, next: undefined });
    expect(await rollup.rebuildAll(pool)).to.deep.equal({ written: 0, removed: 0 });
    await pool.query(`drop table ${source}, ${totals}`);
  }

  for (const name of NAMES.split(" ")) {
    it(`are added up as any others: ${name}`, async () => {
      await check(name, `totals_of_${name}`);
      await check(`rows_of_${name}`, name);
    });
  }
});
