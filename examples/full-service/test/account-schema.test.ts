import { createDatabase, type Database } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import { ensureAccounts } from "../src/account-schema.ts";
import { monthlyTotals } from "../src/reports/totals.ts";
import { ensureExpenses } from "../src/schema.ts";

describe("tables of an older checkout", () => {
  const database = testDatabase({ name: "older" });
  let db: Database;

  before("connect", () => void (db = createDatabase({ url: database.url })));
  after("close the connection", () => db.stop());

  const totals = monthlyTotals("UTC");

  it("are completed without a second copy of the demo users and expenses", async () => {
    let filled = 0;
    const ensure = async (): Promise<readonly [number, number]> => {
      const rows = await ensureExpenses(db, totals, { seed: true });
      await ensureAccounts(db, async () => void (filled += 1));
      return [rows, filled];
    };
    expect(await ensure()).to.deep.equal([360, 1]);
    const lost = ["index expenses_by_time", "table sessions", "index sessions_by_time", "table identities"];
    for (const each of lost) {
      await db.query(`drop ${each}`);
      expect(await ensure(), each).to.deep.equal([0, 1]);
    }
    expect((await db.query("select from sessions, identities")).rowCount).to.equal(0);
    await db.query("drop table users cascade");
    expect(await ensure()).to.deep.equal([0, 2]);
  });
});
