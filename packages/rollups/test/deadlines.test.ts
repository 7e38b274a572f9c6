import { createDatabase } from "@svc/database";
import { testPostgresServer } from "@svc/dev-services";
import { createJobTable, type JobTable } from "@svc/job-table";
import { defineRollup, type Rollup } from "@svc/rollups";
import { type Database, type Queryable, withTransaction } from "@svc/sql";
import { endingOf, until, whileExhausted, whileFrozen } from "@svc/test-support";
import { expect } from "chai";
import type { Pool } from "pg";
import { EXPENSES, openClient, openPool } from "./support/expenses.ts";

const CODE = "ERR_SVC_SQL_DEADLINE";
const TIMEOUTS = { commandTimeoutMs: 300, maintenanceTimeoutMs: 300 };
const MOMENT = { tenant: "acme", at: "2026-01-05T12:00:00Z" };
const RANGE = { tenant: "acme", from: "2026-01-01", to: "2026-01-31" };

/** Methods that take a database, by name. */
const CALLS: Readonly<Record<string, (rollup: Rollup, db: Database) => Promise<unknown>>> = {
  ensureSchema: (rollup, db) => rollup.ensureSchema(db),
  rebuild: (rollup, db) => rollup.rebuild(db, RANGE),
  rebuildAll: (rollup, db) => rollup.rebuildAll(db),
  verifyNext: (rollup, db) => rollup.verifyNext(db, { from: "2026-03-01", to: "2026-03-31" }),
  verify: (rollup, db) => rollup.verify(db, RANGE),
  query: (rollup, db) => rollup.query(db, "acme", { from: RANGE.from, to: RANGE.to }),
  handlers: (rollup, db) => {
    const [handle] = Object.values(rollup.handlers(db));
    return handle!(MOMENT, { attempts: 1, maxAttempts: 3 });
  },
};
/** Methods that take the caller's transaction, by name. */
const IN_TRANSACTION: Readonly<
  Record<string, (rollup: Rollup, tx: Queryable, jobs: JobTable) => Promise<unknown>>
> = {
  refresh: (rollup, tx) => rollup.refresh(tx, MOMENT),
  refreshMany: (rollup, tx) => rollup.refreshMany(tx, [MOMENT]),
  enqueueRefresh: (rollup, tx, jobs) => rollup.enqueueRefresh(jobs, MOMENT, { tx }),
  enqueueRefreshMany: (rollup, tx, jobs) => rollup.enqueueRefreshMany(jobs, [MOMENT], { tx }),
};
const WITHOUT_STATEMENTS = ["ddl", "migrations"];

describe("a rollup with deadlines", function () {
  this.timeout(60_000);
  const postgres = testPostgresServer();
  const rollup = defineRollup({ ...EXPENSES, ...TIMEOUTS });
  const patient = defineRollup(EXPENSES);
  let pool: Pool;

  before(async () => {
    const first = openPool(postgres.url);
    await first.query(`create table expenses (id int generated always as identity primary key, tenant_id text,
      spent_at timestamptz not null, category text, amount numeric)`);
    await first.query("create index on expenses (tenant_id, spent_at)");
    await createJobTable({ db: first }).ensureSchema();
    await patient.ensureSchema(first);
    await first.end();
  });
  beforeEach(async () => {
    pool = openPool(postgres.url, 1);
    await pool.query("select 1");
  });
  afterEach(() => pool.end());

  it("has a test for every method", () => {
    const functions = Object.entries(rollup).flatMap(([name, value]) =>
      typeof value === "function" ? [name] : [],
    );
    const cases = [...Object.keys({ ...CALLS, ...IN_TRANSACTION }), ...WITHOUT_STATEMENTS];
    expect(functions.toSorted()).to.deep.equal(cases.toSorted());
  });

  for (const [name, call] of Object.entries(CALLS)) {
    it(`rejects ${name}() at the deadline while the server is frozen, closes the connection, and works again afterwards`, async () => {
      let connections: number | undefined;
      const { code } = await whileFrozen(postgres.server, async () => {
        const ending = call(rollup, pool);
        await endingOf(ending);
        connections = pool.totalCount;
        return ending;
      });
      expect([code, connections]).to.deep.equal([CODE, 0]);
      await call(patient, pool);
    });

    it(`rejects ${name}() at the deadline while all connections of the pool are in use`, async () => {
      expect((await whileExhausted(pool, () => call(rollup, pool))).code).to.equal(CODE);
      await until("the connection is back", () => pool.waitingCount === 0 && pool.idleCount === 1);
      await call(patient, pool);
    });

    it(`rejects ${name}() on the caller's connection at the deadline while the server is frozen, and leaves the connection open`, async () => {
      await using client = await openClient(postgres.url);
      expect((await whileFrozen(postgres.server, () => call(rollup, client))).code).to.equal(CODE);
      await client.query("rollback");
    });
  }

  for (const [name, call] of Object.entries(IN_TRANSACTION)) {
    it(`rejects ${name}() in the caller's transaction at the deadline while the server is frozen, and leaves the transaction open`, async () => {
      const jobs = createJobTable({ db: pool });
      await using client = await openClient(postgres.url);
      await client.query("begin");
      expect((await whileFrozen(postgres.server, () => call(rollup, client, jobs))).code).to.equal(CODE);
      await client.query("rollback");
      await withTransaction(client, (tx) => call(patient, tx, jobs));
    });
  }

  it("rejects rebuild() at the rollup's deadline on a @svc/database whose own statement timeout is longer", async () => {
    await using db = createDatabase({ url: postgres.url, max: 1 });
    await using holder = await openClient(postgres.url);
    await holder.query("begin");
    await holder.query("lock table expense_months in access exclusive mode");
    expect((await endingOf(rollup.rebuild(db, RANGE))).code).to.equal(CODE);
    expect(db.pool.totalCount).to.equal(0);
    await holder.query("rollback");
    await patient.rebuild(db, RANGE);
  });
});
