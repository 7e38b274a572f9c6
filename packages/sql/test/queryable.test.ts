import { testDatabase } from "@svc/dev-services";
import { type Connectable, type Database, isPool, type Queryable } from "@svc/sql";
import { expect } from "chai";
import type pg from "pg";
import { connections } from "./support/connections.ts";

// The compiler checks that the types of `pg` fit those of the package.
type Accepts<T, U extends T> = U;
export type Accepted = [
  Accepts<Queryable & Connectable, pg.Pool>,
  Accepts<Queryable, pg.Client>,
  Accepts<Queryable, pg.PoolClient>,
  Accepts<Database, pg.Pool | pg.Client | pg.PoolClient>,
];

describe("Queryable", () => {
  const database = testDatabase({ name: "queryable" });
  const { client, pool: newPool, end } = connections(() => database.url);
  after(end);

  it("is implemented by a pool, a client and a pool client", async () => {
    const pool = newPool();
    const lent = await pool.connect();
    for (const db of [pool, await client(), lent] satisfies Queryable[]) {
      const { rows, rowCount } = await (db as Queryable).query<{ n: number }>("select $1::int as n", [5]);
      expect(rows[0]?.n).to.equal(5);
      expect(rowCount).to.equal(1);
    }
    lent.release();
  });

  it("is recognized by isPool() as a pool or a connection", async () => {
    const pool = newPool();
    const lent = await pool.connect();
    expect(isPool(pool)).to.equal(true);
    expect(isPool(lent)).to.equal(false);
    expect(isPool(await client())).to.equal(false);
    lent.release();
    const own: Connectable = { connect: () => pool.connect() };
    expect(isPool(own)).to.equal(true);
    expect(isPool({ query: () => Promise.resolve({ rows: [] }) })).to.equal(false);
  });
});
