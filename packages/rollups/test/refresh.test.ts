import { testDatabase } from "@svc/dev-services";
import { withTransaction } from "@svc/sql";
import { expect } from "chai";
import { openExpenses } from "./support/expenses.ts";

describe("refresh", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "rollups" });

  it("ROLL-1 ROLL-2 ROLL-5 computes the bucket of a moment from its rows, by tenant, local month and group", async () => {
    await using each = await openExpenses(database.url);
    const { pool, rollup } = each;
    await each.add("acme", "2026-03-31T21:59:59Z", "food", 10);
    await each.add("acme", "2026-03-31T22:00:00Z", "food", 1);
    await each.add("acme", "2026-02-28T23:00:00Z", "fuel", 5.5);
    await each.add("acme", "2026-02-28T22:59:59Z", "fuel", 1);
    await each.add("globex", "2026-03-10T12:00:00Z", "food", 99);
    const done = await withTransaction(pool, (tx) =>
      rollup.refresh(tx, { tenant: "acme", at: "2026-03-15T12:00:00+01:00" }),
    );
    expect(done).to.deep.equal({ month: "2026-03-01", written: 2, removed: 0 });
    expect(await each.totals()).to.deep.equal([
      { tenant_id: "acme", month: "2026-03-01", category: "food", total: 10, n: 1 },
      { tenant_id: "acme", month: "2026-03-01", category: "fuel", total: 5.5, n: 1 },
    ]);
    expect(await rollup.verify(pool, { tenant: "acme", from: "2026-03-01", to: "2026-03-31" })).to.deep.equal(
      { drift: [], warnings: [] },
    );
    expect(await rollup.query(pool, "acme", { from: "2026-03-05", to: "2026-03-06", by: [] })).to.deep.equal([
      { total: "15.5", n: "2" },
    ]);
    expect(
      await rollup.rebuild(pool, { tenant: "acme", from: "2026-02-05", to: "2026-04-06" }),
    ).to.deep.equal({ months: 3, written: 2, removed: 0 });
    expect(await rollup.rebuildAll(pool)).to.deep.equal({ written: 1, removed: 0 });
  });
});
