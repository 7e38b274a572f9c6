import { testDatabase } from "@svc/dev-services";
import { createJobTable } from "@svc/job-table";
import { ConfigurationError } from "@svc/options";
import { bindRollup } from "@svc/rollups";
import { withTransaction } from "@svc/sql";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { openExpenses } from "./support/expenses.ts";

const at = "2026-03-10T12:00:00Z";
const march = { from: "2026-03-01", to: "2026-03-31" };

describe("bindRollup()", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "bound rollup" });

  it("ROLL-5 calls the rollup with the given database", async () => {
    await using each = await openExpenses(database.url);
    const { pool, rollup } = each;
    const bound = bindRollup(rollup, { db: pool });
    expect(bound).to.include({ name: rollup.name, table: rollup.table, timeZone: "Europe/Berlin" });
    expect([bound.ddl(), bound.migrations()]).to.deep.equal([rollup.ddl(), rollup.migrations()]);
    expect(await bound.ensureSchema()).to.equal("present");
    await each.add("acme", at, "food", 1);
    expect((await bound.verify({ tenant: "acme", ...march })).drift).to.have.length(1);
    expect(await bound.verifyNext(march)).to.deep.include({ tenants: 1, next: undefined });
    expect(await bound.rebuild({ tenant: "acme", ...march })).to.include({ months: 1, written: 1 });
    const totals = [{ month: "2026-03-01", category: "food", total: "1", n: "1" }];
    expect(await bound.query("acme", march)).to.deep.equal(totals);
    expect(await withTransaction(pool, (tx) => bound.query("acme", march, tx))).to.deep.equal(totals);
    expect(await bound.rebuildAll()).to.deep.equal({ written: 0, removed: 0 });
  });

  it("ROLL-2 refreshes the totals of touched rows in the transaction, or by a job", async () => {
    await using each = await openExpenses(database.url);
    const { pool: db, rollup } = each;
    const jobs = createJobTable({ db, name: "bound_jobs" });
    await jobs.ensureSchema();
    const inline = bindRollup(rollup, { db, jobs });
    const byJob = bindRollup(rollup, { db, jobs, refresh: "job" });
    await each.add("acme", at, "food", 1);
    await withTransaction(db, (tx) => inline.touched(tx, { tenant: "acme", at }));
    expect(await each.totals()).to.have.length(1);
    await each.add("globex", at, "food", 1);
    await withTransaction(db, (tx) => inline.touchedMany(tx, [{ tenant: "globex", at }]));
    expect(await each.totals()).to.have.length(2);
    expect(await jobs.stats()).to.include({ pending: 0 });
    await withTransaction(db, (tx) => byJob.touched(tx, { tenant: "acme", at }));
    await withTransaction(db, (tx) => byJob.touchedMany(tx, [{ tenant: "globex", at }]));
    expect(await jobs.stats()).to.include({ pending: 2 });
    const again = await withTransaction(db, (tx) => inline.refreshLater(tx, { tenant: "acme", at }));
    const many = await withTransaction(db, (tx) => inline.refreshLaterMany(tx, [{ tenant: "acme", at }]));
    expect([again.enqueued, many.map(({ enqueued }) => enqueued)]).to.deep.equal([false, [false]]);
  });

  it("refuses refreshes by jobs without a queue, and values that are not rollups", async () => {
    await using each = await openExpenses(database.url);
    const { pool: db, rollup } = each;
    expect(() => bindRollup(rollup, { db, refresh: "job" })).to.throw(
      ConfigurationError,
      'refresh: is "job", which needs a queue; pass jobs',
    );
    expect(() => bindRollup({} as never, { db })).to.throw(
      ConfigurationError,
      "rollup: must be a rollup returned by defineRollup()",
    );
    const bound = bindRollup(rollup, { db });
    for (const call of [
      () => bound.refreshLater(db, { tenant: "acme", at }),
      () => bound.refreshLaterMany(db, [{ tenant: "acme", at }]),
    ]) {
      const error = await rejection(call);
      expect(error).to.be.instanceOf(ConfigurationError);
      expect(error.message).to.contain("jobs: is required by refreshLater()");
    }
  });
});
