import { testPostgresServer } from "@svc/dev-services";
import {
  bounded,
  type Connectable,
  type Database,
  type Deadline,
  enableRowSecurity,
  ensureSchema,
  inTime,
  original,
  type PooledConnection,
  type Queryable,
  queryWithin,
  type QueryResult,
  type Row,
  withTransaction,
} from "@svc/sql";
import { endingOf, until, whileExhausted, whileFrozen } from "@svc/test-support";
import { expect } from "chai";
import type pg from "pg";
import { connections } from "./support/connections.ts";
import { failure } from "./support/failure.ts";

const DEADLINE: Deadline = { operation: "ask()", timeoutMs: 300 };
const TIMEOUTS = { commandTimeoutMs: 300, maintenanceTimeoutMs: 300 };
const CODE = "ERR_SVC_SQL_DEADLINE";

describe("a call with a deadline", function () {
  this.timeout(60_000);
  const postgres = testPostgresServer();
  const { client, pool: newPool, end } = connections(() => postgres.url);
  before(async () => {
    const pool = newPool();
    await pool.query("create table notes (id int primary key, tenant_id text not null)");
  });
  afterEach(end);

  const open = async (max = 1): Promise<pg.Pool> => {
    const pool = newPool({ max });
    await pool.query("select 1");
    return pool;
  };

  const calls: Readonly<Record<string, (db: Database) => Promise<unknown>>> = {
    queryWithin: (db) => queryWithin(db, DEADLINE, "select 1"),
    bounded: (db) => withTransaction(bounded(db, DEADLINE), (tx) => tx.query("select 1")),
    ensureSchema: (db) =>
      ensureSchema(db, {
        name: "notes",
        tables: { notes: { id: "integer", tenant_id: "text" } },
        statements: ["create table notes (id int)"],
        ...TIMEOUTS,
      }),
    enableRowSecurity: (db) => enableRowSecurity(db, { table: "notes", ...TIMEOUTS }),
  };

  for (const [name, call] of Object.entries(calls)) {
    it(`${name} rejects while the server is frozen, closes its connection, and works again afterwards`, async () => {
      const pool = await open();
      const { code, error } = await whileFrozen(postgres.server, async () => {
        const ending = call(pool);
        await endingOf(ending);
        expect(pool.totalCount, "connections of the pool").to.equal(0);
        return ending;
      });
      expect(code).to.equal(CODE);
      expect(error).to.include({ sent: true, timeoutMs: 300, status: 503, expose: false });
      expect((error as Error).message).to.match(
        /\(\).* within 0\.3 s; a statement already sent may still take effect$/,
      );
      await call(pool);
    });

    it(`${name} rejects while the pool is exhausted, and releases a connection that arrives after the deadline`, async () => {
      const pool = await open();
      const { code, error } = await whileExhausted(pool, () => call(pool));
      expect(code).to.equal(CODE);
      expect(error).to.include({ sent: false });
      await until("the pool has its connection", () => pool.idleCount === 1 && pool.waitingCount === 0);
      await call(pool);
    });

    it(`${name} rejects when the caller's connection is frozen, and leaves it open`, async () => {
      const connection = await client();
      const { code, error } = await whileFrozen(postgres.server, () => call(connection));
      expect(code).to.equal(CODE);
      expect((error as Error).message).to.match(/roll back, or close the connection if it does not respond$/);
      expect((await connection.query("select 2 as two")).rows).to.deep.equal([{ two: 2 }]);
    });
  }

  it("does not deliver a late response to a later call", async () => {
    const pool = await open();
    await whileFrozen(postgres.server, () => queryWithin(pool, DEADLINE, "select 'late' as it"));
    expect((await queryWithin(pool, DEADLINE, "select 'new' as it")).rows).to.deep.equal([{ it: "new" }]);
  });

  const onCaller: Readonly<Record<string, (db: Queryable, text: string) => Promise<unknown>>> = {
    queryWithin: (db, text) => queryWithin(db, DEADLINE, text),
    // A separate bounded() call for each statement, as when several packages share a transaction.
    bounded: (db, text) => bounded(db, DEADLINE).query(text),
  };
  for (const [name, ask] of Object.entries(onCaller)) {
    it(`${name} sends nothing on the caller's connection until the late response has arrived`, async () => {
      const connection = await client();
      const sent: string[] = [];
      const db = {
        query<R extends Row>(text: string): Promise<QueryResult<R>> {
          sent.push(text);
          return connection.query<R>(text);
        },
      };
      await whileFrozen(postgres.server, async () => {
        await endingOf(ask(db, "select 1"));
        const { code, error } = await endingOf(ask(db, "select 2"));
        expect([code, sent]).to.deep.equal([CODE, ["select 1"]]);
        expect((error as Error).message).to.equal(
          "ask() was not sent: an earlier statement on its connection passed its deadline and is still unanswered",
        );
      });
      await connection.query("select 3");
      await ask(db, "select 4");
      expect(sent).to.deep.equal(["select 1", "select 4"]);
    });
  }

  for (const [hides, outcome] of [
    [false, "closes the connection of a transaction in which a call passed its deadline"],
    [true, "does not commit a transaction that swallowed a deadline error"],
  ] as const) {
    it(outcome, async () => {
      const pool = await open();
      const transaction = withTransaction(pool, async (tx) => {
        await tx.query("insert into notes values (1, 'a')");
        postgres.server.pause();
        const asked = queryWithin(tx, DEADLINE, "insert into notes values (2, 'a')");
        await (hides ? asked.catch(() => undefined) : asked);
      });
      const { code } = await endingOf(transaction);
      const left = pool.totalCount;
      postgres.server.resume();
      expect([code, left]).to.deep.equal([CODE, 0]);
      expect((await pool.query("select from notes")).rowCount, "rolled back").to.equal(0);
    });
  }

  it("does not commit a bounded transaction that swallowed a deadline error", async () => {
    const pool = await open();
    const { code } = await whileFrozen(postgres.server, () =>
      withTransaction(bounded(pool, DEADLINE), (tx) => tx.query("select 1").catch(() => "hidden")),
    );
    expect(code).to.equal(CODE);
  });

  it("rolls back a transaction in which a call on another database passed its deadline", async () => {
    const connection = await client();
    const away = { query: () => new Promise<never>(() => undefined) };
    await connection.query("begin");
    const { code } = await endingOf(
      withTransaction(connection, async (tx) => {
        await tx.query("insert into notes values (3, 'a')");
        await queryWithin(away, DEADLINE, "select 1");
      }),
    );
    expect(code).to.equal(CODE);
    await connection.query("commit");
    expect((await connection.query("select from notes")).rowCount).to.equal(0);
  });

  it("rejects all further statements of a call immediately after a deadline", async () => {
    const pool = await open(2);
    const db = bounded(pool, DEADLINE);
    const errors: unknown[] = [];
    await whileFrozen(postgres.server, async () => {
      await withTransaction(db, async (tx) => {
        errors.push(await failure(tx.query("select 1")), await failure(tx.query("select 2")));
      }).catch(() => undefined);
      errors.push(await failure(db.query("select 3")), await failure(db.connect()));
    });
    expect(new Set(errors).size).to.equal(1);
    expect(errors[0]).to.include({ code: CODE });
  });

  it("applies the deadline to work that inTime() awaits, such as a stream", async () => {
    const pool = await open();
    const ending = await endingOf(
      withTransaction(bounded(pool, DEADLINE), (tx) => inTime(tx, new Promise(() => undefined))),
    );
    expect([ending.code, pool.totalCount]).to.deep.equal([CODE, 0]);
    expect(await inTime(await client(), Promise.resolve(1))).to.equal(1);
  });

  it("rejects further calls while 1,000 timed-out calls still wait for a connection", async () => {
    const released: string[] = [];
    const waiting: ((connection: PooledConnection) => void)[] = [];
    const pool: Connectable = { connect: () => new Promise((resolve) => waiting.push(resolve)) };
    const soon = { ...DEADLINE, timeoutMs: 5 };
    const late = await Promise.all(
      Array.from({ length: 1000 }, (_, n) =>
        endingOf(n % 2 === 0 ? queryWithin(pool, soon, "select 1") : bounded(pool, soon).connect()),
      ),
    );
    expect(new Set(late.map(({ code }) => code))).to.deep.equal(new Set([CODE]));
    for (const call of [() => queryWithin(pool, soon, "select 1"), () => bounded(pool, soon).connect()]) {
      expect(await failure(call())).to.have.property(
        "message",
        "ask() was not sent: too many earlier calls are waiting for a connection from the pool",
      );
    }
    expect(waiting).to.have.lengthOf(1000);
    const connection: PooledConnection = {
      query: () => Promise.resolve({ rows: [] }),
      release: () => void released.push("released"),
    };
    for (const resolve of waiting.splice(0)) resolve(connection);
    await until("all were given back", () => released.length === 1000);
    const again = queryWithin(pool, { ...DEADLINE, timeoutMs: 5000 }, "select 1");
    waiting[0]?.(connection);
    expect(await again).to.deep.equal({ rows: [] });
  });

  it("keeps a connection after a rejected statement, and closes a broken connection", async () => {
    const pool = await open();
    expect(await failure(queryWithin(pool, DEADLINE, "select nothing"))).to.include({ code: "42703" });
    expect(pool.totalCount).to.equal(1);
    const broken = "select pg_terminate_backend(pg_backend_pid())";
    expect(await failure(queryWithin(pool, { ...DEADLINE, timeoutMs: 5000 }, broken))).to.include({
      code: "57P01",
    });
    expect(pool.totalCount).to.equal(0);
  });

  it("bounded() forwards all other members of a database, and original() returns the wrapped database", async () => {
    const pool = await open();
    const db = bounded(pool, DEADLINE);
    expect(db.totalCount).to.equal(1);
    expect(original(bounded(db, DEADLINE))).to.equal(pool);
    expect(original(pool)).to.equal(pool);
    const connection = await db.connect();
    expect(connection.escapeIdentifier("a")).to.equal('"a"');
    const listeners = connection.listenerCount("error");
    connection.release();
    connection.release();
    expect(pool.idleCount).to.equal(1);
    for (let call = 0; call < 3; call++) {
      await withTransaction(bounded(pool, DEADLINE), (tx) => tx.query("select 1"));
    }
    const again = await pool.connect();
    expect(again.listenerCount("error"), "one listener a connection").to.equal(listeners);
    again.release();
  });

  it("rejects an invalid timeout", async () => {
    const pool = await open();
    for (const wrong of [0, 1.5, 2 ** 31, "1"]) {
      for (const name of ["commandTimeoutMs", "maintenanceTimeoutMs"]) {
        const timeouts = { [name]: wrong as number };
        const text = `${name} must be a whole number from 1 to 2147483647; it is ${wrong}`;
        expect((await failure(enableRowSecurity(pool, { table: "notes", ...timeouts }))).message).to.contain(
          text,
        );
      }
    }
  });
});
