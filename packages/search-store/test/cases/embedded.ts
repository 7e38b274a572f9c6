import { isPool } from "@svc/sql";
import { expect } from "chai";
import type { Backend } from "../support/backends.ts";
import type { Backends } from "../support/everywhere.ts";
import { failureOf } from "../support/failure.ts";

export function embeddedCases(backends: Backends): void {
  function embedded(): Backend["db"] {
    const found = backends.all.find((each) => each.name === "embedded");
    if (found === undefined) throw new Error("there is no embedded database");
    return found.db;
  }

  it("answers as pg does", async () => {
    const db = embedded();
    expect(isPool(db)).to.equal(true);
    const { rows } = await db.query(
      `select 5::bigint as big, '\\x0102'::bytea as bytes, '{"a":[1]}'::jsonb as json, now() as at, $1::text as text`,
      ["é"],
    );
    expect(rows[0]).to.deep.include({ big: "5", bytes: Buffer.from([1, 2]), json: { a: [1] }, text: "é" });
    expect(rows[0]?.["at"]).to.be.instanceOf(Date);
    const several = await db.query(
      "create temporary table t_rows (id int); insert into t_rows values (1), (2)",
    );
    expect(several.rowCount).to.equal(2);
    expect((await db.query("delete from t_rows where id > $1", [1])).rowCount).to.equal(1);
    expect((await db.query("")).rows).to.deep.equal([]);
  });

  it("lends its one connection to one at a time, and not after it was given back", async () => {
    const db = embedded();
    const connection = await db.connect();
    await connection.query("begin");
    const waiting = db.query("select 1 as one");
    await connection.query("rollback");
    connection.release();
    connection.release();
    expect((await waiting).rows).to.deep.equal([{ one: 1 }]);
    expect((await failureOf(connection.query("select 1"))).code).to.equal("ERR_SVC_SEARCH_EMBEDDED");
  });

  it("keeps the values of a statement out of its errors", async () => {
    const error = await failureOf(embedded().query("select $1::text from nowhere", ["secret"]));
    expect(error.code).to.equal("42P01");
    expect(JSON.stringify(Object.entries(error))).not.to.contain("secret");
  });
}
