import { createDatabase } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { bounded, original, plannedWithin, SESSION_COLUMN } from "@svc/sql";
import { expect } from "chai";

describe("a planned statement on a database", function () {
  this.timeout(30_000);
  const testing = testDatabase({ name: "database-planned" });

  it("is planned only once on a connection of the database", async () => {
    const db = createDatabase({ url: testing.url, max: 1 });
    const text = `select $1::text as note, ${SESSION_COLUMN}`;
    for (const note of ["a", "b", "c"]) {
      const statement = { name: "test_note", text, values: [note] };
      const { rows } = await plannedWithin(db, { operation: "ask()", timeoutMs: 10_000 }, statement);
      expect(rows[0]).to.include({ note });
    }
    const kept = await db.query(
      "select name, generic_plans + custom_plans as uses from pg_prepared_statements",
    );
    expect(kept.rows).to.eql([{ name: "test_note", uses: "2" }]);
    await db.stop();
  });

  it("runs on the guarded connection, not on the driver's client, when bounded() wraps the connection", async () => {
    const db = createDatabase({ url: testing.url, max: 1 });
    const connection = await db.connect();
    expect(original(bounded(connection, { operation: "ask()", timeoutMs: 10_000 }))).to.equal(connection);
    connection.release();
    await db.stop();
  });
});
