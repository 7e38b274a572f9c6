import { testDatabase } from "@svc/dev-services";
import { OptionError, type Queryable, sqlStateOf, TransactionError, withTransaction } from "@svc/sql";
import { expect } from "chai";
import fc from "fast-check";
import { connections } from "./support/connections.ts";
import { failure } from "./support/failure.ts";

describe("transaction settings", () => {
  const database = testDatabase({ name: "settings" });
  const { client, pool: newPool, end } = connections(() => database.url);
  after(end);

  const shown = async (db: Queryable): Promise<unknown> =>
    (await db.query("select current_setting('svc.tenant', true) as shown")).rows[0]?.["shown"];
  const settings = { "svc.tenant": "acme" };

  it("apply until the transaction ends, whether it commits or rolls back", async () => {
    const pool = newPool({ max: 1 });
    expect(await withTransaction(pool, shown, { settings })).to.equal("acme");
    expect(await shown(pool)).to.be.oneOf([null, ""]);
    const error = await failure(withTransaction(pool, (tx) => tx.query("select 1/0"), { settings }));
    expect(sqlStateOf(error)).to.equal("22012");
    expect(await shown(pool)).to.be.oneOf([null, ""]);
    expect(pool.totalCount).to.equal(1);
  });

  it("add no round trip", async () => {
    const pool = newPool({ max: 1 });
    const texts: string[] = [];
    const connection = await pool.connect();
    const counted = {
      query: (text: string, values?: unknown[]) => {
        texts.push(text);
        return connection.query(text, values);
      },
      release: () => undefined,
    };
    await withTransaction({ connect: () => Promise.resolve(counted) }, (tx) => tx.query("select 1"), {
      settings,
      isolation: "serializable",
    });
    expect(texts).to.deep.equal([
      `begin isolation level serializable; set local "svc"."tenant" = 'acme'`,
      "select 1",
      'commit; reset "svc"."tenant"',
    ]);
    connection.release();
  });

  it("can be combined, and can have lists as values", async () => {
    const pool = newPool({ max: 1 });
    const seen = await withTransaction(
      pool,
      async (tx) =>
        (await tx.query("select current_schemas(false) as schemas, current_setting('a.b') as b")).rows,
      { settings: { search_path: "public, pg_catalog", "a.b": "c" } },
    );
    expect(seen).to.deep.equal([{ schemas: "{public,pg_catalog}", b: "c" }]);
    const { rows } = await pool.query(
      "select current_schemas(false) as schemas, current_setting('a.b', true) as b",
    );
    expect(rows).to.deep.equal([{ schemas: "{public}", b: "" }]);
  });

  it("do not stay on a pool connection, even if the function has set them for the session", async () => {
    const pool = newPool({ max: 1 });
    const set = (tx: Queryable): Promise<unknown> => tx.query("set svc.tenant = 'poison'");
    await withTransaction(pool, set, { settings });
    expect(await shown(pool)).to.be.oneOf([null, ""]);
    const error = await failure(
      withTransaction(
        pool,
        async (tx) => {
          await tx.query("commit");
          await set(tx);
          throw new Error("no");
        },
        { settings },
      ),
    );
    expect(error.message).to.equal("no");
    expect(await shown(pool)).to.be.oneOf([null, ""]);
    expect(pool.totalCount).to.equal(1);
  });

  it("do not stay on the caller's connection", async () => {
    const db = await client();
    await db.query("set svc.tenant = 'mine'");
    expect(await withTransaction(db, shown, { settings })).to.equal("acme");
    expect(await shown(db)).to.equal("mine");
  });

  it("leave no transaction open on a connection when the server rejects them", async () => {
    const db = await client();
    const options = { settings: { no_such_setting: "1" } };
    expect(sqlStateOf(await failure(withTransaction(db, () => 1, options)))).to.equal("42704");
    expect((await db.query<{ one: number }>("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
    const pool = newPool({ max: 1 });
    expect(sqlStateOf(await failure(withTransaction(pool, () => 1, options)))).to.equal("42704");
    expect((await pool.query<{ one: number }>("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
  });

  it("do not hide a statement error that the function swallowed", async () => {
    const pool = newPool({ max: 1 });
    const hide = (tx: Queryable): Promise<unknown> => tx.query("select 1/0").catch(() => undefined);
    expect(await failure(withTransaction(pool, hide, { settings }))).to.be.instanceOf(TransactionError);
    expect(await shown(pool)).to.be.oneOf([null, ""]);
  });

  it("are rejected inside a transaction, where they would outlive their savepoint", async () => {
    const pool = newPool({ max: 1 });
    await withTransaction(pool, async (tx) => {
      const error = await failure(withTransaction(tx, () => 1, { settings }));
      expect(error).to.be.instanceOf(TransactionError);
      expect(error.message).to.contain("apply to a whole transaction");
    });
  });

  it("have exactly the given value, for any characters", async () => {
    const pool = newPool({ max: 1 });
    const values = fc
      .string({ unit: fc.constantFrom("'", "\\", '"', ";", "$", "-", "\n", "a", "é", "💧", "%", "E") })
      .filter((value) => value !== "");
    const holds = fc.asyncProperty(values, async (value) => {
      expect(await withTransaction(pool, shown, { settings: { "svc.tenant": value } })).to.equal(value);
    });
    await fc.assert(holds, { numRuns: 200 });
    await pool.query(
      "alter database " + new URL(database.url).pathname.slice(1) + " set standard_conforming_strings = off",
    );
    const other = newPool({ max: 1 });
    const value = String.raw`\'; select 1; --\\`;
    expect(await withTransaction(other, shown, { settings: { "svc.tenant": value } })).to.equal(value);
  });

  it("are rejected when a name or value cannot be a setting", async () => {
    const pool = newPool();
    for (const wrong of [
      { "svc.tenant'": "a" },
      { "a.b.c": "a" },
      { "": "a" },
      { "Svc.Tenant": "a" },
      { "svc.tenant": 1 },
      { "svc.tenant": undefined },
      { "svc.tenant": "a\0b" },
      { "svc.tenant": "a\ud800" },
      [],
      null,
    ]) {
      const error = await failure(
        withTransaction(pool, () => 1, { settings: wrong as Record<string, string> }),
      );
      expect(error).to.be.instanceOf(OptionError).with.property("code", "ERR_SVC_CONFIGURATION");
    }
    expect(pool.totalCount).to.equal(0);
  });
});
