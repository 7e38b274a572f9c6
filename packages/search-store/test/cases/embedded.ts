import { isPool } from "@svc/sql";
import { expect } from "chai";
import type { Backend } from "../support/backends.ts";
import type { Backends } from "../support/everywhere.ts";
import { failureOf } from "../support/failure.ts";
import { runHere } from "../support/sample-world.ts";

export function embeddedCases(backends: Backends): void {
  function embedded(): Backend["db"] {
    const found = backends.all.find((each) => each.name === "embedded");
    if (found === undefined) throw new Error("there is no embedded database");
    return found.db;
  }

  it("runs the first README sample", async () => {
    const db = embedded();
    expect(await runHere(db, 0)).to.equal("Taxi to the airport\n");
    await db.query("drop table svc_chunks");
  });

  it("runs the second README sample: finds chunks by meaning, by word and by filter, but none for another tenant", async () => {
    const db = embedded();
    expect((await runHere(db, 1)).split("\n")).to.deep.equal([
      "{ chunks: 3, embedded: 3, reused: 0, removed: 0 }",
      "{ chunks: 4, embedded: 1, reused: 3, removed: 0 }",
      "[",
      "  'Taxi to the airport (meaning 1, words 1)',",
      "  'Train to Turin (meaning 2, words null)'",
      "]",
      "[ 'Train to Turin' ]",
      "[]",
      "pgvector 0.8.7, embedded",
      "",
    ]);
    await db.query("drop table svc_chunks");
  });

  it("returns values of the same types as pg", async () => {
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

  it("gives its only connection to one caller at a time, and rejects queries on a released connection", async () => {
    const db = embedded();
    const connection = await db.connect();
    await connection.query("begin");
    let answered = false;
    const waiting = db.query("select 1 as one").finally(() => {
      answered = true;
    });
    // The database runs statements in order, so a second caller that did not wait would have its answer before these end.
    for (let count = 0; count < 3; count++) await connection.query("select 2");
    await connection.query("rollback");
    expect(answered).to.equal(false);
    connection.release();
    connection.release();
    expect((await waiting).rows).to.deep.equal([{ one: 1 }]);
    expect((await failureOf(connection.query("select 1"))).code).to.equal("ERR_SVC_SEARCH_EMBEDDED");
  });

  it("removes a statement's values from its errors", async () => {
    const error = await failureOf(embedded().query("select $1::text from nowhere", ["secret"]));
    expect(error.code).to.equal("42P01");
    expect(JSON.stringify(Object.entries(error))).not.to.contain("secret");
  });
}
