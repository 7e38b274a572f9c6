import { createDatabase, type Database } from "@svc/database";
import { openTestLogin, type OpenTestLogin, testDatabase } from "@svc/dev-services";
import { defineRollup, type Rollup } from "@svc/rollups";
import { enableRowSecurity, withTransaction } from "@svc/sql";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import type { Pool } from "pg";
import { EXPENSES, openPool } from "./support/expenses.ts";

describe("a rollup with row security", function () {
  this.timeout(60_000);
  let login: OpenTestLogin;
  let db: Database;
  let plain: Pool;
  after(async () => {
    await db.stop();
    await plain.end();
    await login.drop();
  });
  const database = testDatabase({ name: "rollup security" });
  const at = "2026-03-10T12:00:00Z";
  const range = { from: "2026-03-01", to: "2026-03-31" };
  const rollup: Rollup = defineRollup(EXPENSES);

  before(async () => {
    // Use a login without privileges, because a superuser bypasses row security.
    login = await openTestLogin({
      url: database.url,
      grants: ["grant usage, create on schema public to login"],
    });
    db = createDatabase({ url: login.url, max: 2 });
    plain = openPool(login.url, 2);
    await db.query(
      "create table expenses (tenant_id text, spent_at timestamptz, category text, amount numeric)",
    );
    await rollup.ensureSchema(db);
    for (const table of ["expenses", rollup.table]) await enableRowSecurity(db, { table });
    for (const tenant of ["acme", "globex"]) {
      await db.withTenant(tenant, (tx) =>
        tx.query("insert into expenses values ($1, $2, 'food', 5)", [tenant, at]),
      );
    }
  });
  const kept = (tenant: string): Promise<unknown> =>
    db.withTenant(tenant, (tx) => rollup.query(tx, tenant, range));
  const FIVE = [{ month: "2026-03-01", category: "food", total: "5", n: "1" }];
  const refused = async (attempt: Promise<unknown>): Promise<void> => {
    expect(await rejection(attempt)).to.have.property("code", "ERR_SVC_ROLLUP_TENANT");
  };

  it("ROLL-5 refreshes and queries only the tenant of the transaction", async () => {
    await db.withTenant("acme", async (tx) => {
      expect(await rollup.refresh(tx, { tenant: "acme", at })).to.include({ written: 1, removed: 0 });
      expect(await rollup.refresh(tx, { tenant: "acme", at })).to.include({ written: 0, removed: 0 });
    });
    expect(await kept("acme")).to.deep.equal(FIVE);
    expect(await kept("globex")).to.deep.equal([]);
    expect(await db.withTenant("globex", (tx) => rollup.query(tx, "acme", range))).to.deep.equal([]);
  });

  it("rejects a transaction of another tenant or of no tenant, instead of deleting totals", async () => {
    await refused(db.withTenant("globex", (tx) => rollup.refresh(tx, { tenant: "acme", at })));
    await refused(db.withTenant("acme", (tx) => rollup.refresh(tx, { tenant: null, at })));
    await refused(db.transaction((tx) => rollup.refresh(tx, { tenant: "acme", at })));
    await refused(withTransaction(plain, (tx) => rollup.verify(tx, { tenant: "acme", ...range })));
    await refused(rollup.rebuildAll(db));
    expect(await kept("acme")).to.deep.equal(FIVE);
  });

  it("ROLL-7 rebuilds and verifies as the tenant on a pool and on a @svc/database, and runs jobs as the tenant", async () => {
    const handlers = Object.values(rollup.handlers(db));
    const job = { attempts: 1, maxAttempts: 3 };
    for (const on of [db, plain]) {
      await db.withTenant("globex", (tx) => tx.query(`delete from ${rollup.table}`));
      const done = await rollup.rebuild(on, { tenant: "globex", ...range });
      expect(done).to.deep.equal({ months: 1, written: 1, removed: 0 });
      expect((await rollup.verify(on, { tenant: "globex", ...range })).drift).to.deep.equal([]);
    }
    await db.withTenant("globex", (tx) =>
      tx.query("insert into expenses values ('globex', $1, 'rent', 1)", [at]),
    );
    for (const handler of handlers) {
      expect(await handler({ tenant: "globex", at }, job)).to.include({ written: 1 });
      expect(await handler({ tenant: "globex", at }, { ...job, attempts: 3 })).to.include({ written: 0 });
    }
    expect(await kept("globex")).to.have.length(2);
  });

  it("accepts the transaction of a UUID tenant in upper case", async () => {
    const tenant = "8F14E45F-CEEA-467F-A9AB-3F0C5B6D8E21";
    await db.query("create table trips (account uuid, at timestamptz)");
    const trips = defineRollup({
      name: "trip_months",
      source: { table: "trips", tenantColumn: "account", tenantType: "uuid", timeColumn: "at" },
      measures: { n: { sql: "count(*)", type: "bigint" } },
      timeZone: "UTC",
    });
    await trips.ensureSchema(db);
    await enableRowSecurity(db, { table: "trips", column: "account" });
    await enableRowSecurity(db, { table: trips.table });
    await db.withTenant(tenant, async (tx) => {
      await tx.query("insert into trips values ($1, $2)", [tenant, at]);
      expect(await trips.refresh(tx, { tenant, at })).to.include({ written: 1 });
      expect((await trips.verify(tx, { tenant, ...range })).drift).to.deep.equal([]);
    });
    const other = "00000000-0000-4000-8000-000000000001";
    await refused(db.withTenant(tenant, (tx) => trips.refresh(tx, { tenant: other, at })));
  });

  it("does not check the tenant of the transaction when tenantSetting is null", async () => {
    const own = defineRollup({ ...EXPENSES, tenantSetting: null });
    expect(await db.transaction((tx) => own.refresh(tx, { tenant: "acme", at }))).to.include({
      written: 0,
      removed: 0,
    });
    expect(await kept("acme")).to.deep.equal(FIVE);
  });
});
