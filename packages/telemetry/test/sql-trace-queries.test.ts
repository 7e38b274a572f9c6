import { createDatabase } from "@svc/database";
import { plannedWithin, SESSION_COLUMN } from "@svc/sql";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import pg from "pg";
import type { TracedPool } from "../src/sql/trace-queries.ts";
import { createTracing, tracedPools } from "./support/traced-pools.ts";

type Call = (...args: unknown[]) => unknown;

/** Calls a method whose overloads do not list all forms that the driver accepts. */
function callOf(queries: pg.Pool | pg.PoolClient): Call {
  return (...args) => (queries.query as Call).apply(queries, args);
}

function withCallback(call: Call, ...args: unknown[]): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const returned = call(...args, (error: unknown, result: unknown) =>
      error ? reject(error as Error) : resolve(result),
    );
    if (returned !== undefined) reject(new Error("it returned a value besides calling the callback"));
  });
}

describe("traceQueries()", function () {
  this.timeout(30_000);
  const { database, plain, traced } = tracedPools("telemetry-queries");
  before(async () => {
    await plain().query("create table orders (id int primary key, note text)");
  });
  const nameOf = (url: string): string => new URL(url).pathname.slice(1);

  const text = "select note from orders where id = $1 or id = 2";
  const forms: Readonly<Record<string, (call: Call) => unknown>> = {
    text: (call) => call(text.replace("$1", "1")),
    "text and values": (call) => call(text, [1]),
    "text and a callback": (call) => withCallback(call, text.replace("$1", "1")),
    "text, values and a callback": (call) => withCallback(call, text, [1]),
    "text, no values and a callback": (call) => withCallback(call, text.replace("$1", "1"), undefined),
    "a statement with values": (call) => call({ text, values: [1] }),
    "a statement with a name": (call) => call({ text, values: [1], name: "notes" }),
    "a statement with the row mode array": (call) => call({ text, values: [1], rowMode: "array" }),
    "a statement, and values": (call) => call({ text }, [1]),
    "a statement and a callback": (call) => withCallback(call, { text, values: [1] }),
    "a statement, values and a callback": (call) => withCallback(call, { text }, [1]),
    "a statement with a callback": (call) =>
      new Promise((resolve, reject) => {
        const callback = (error: unknown, result: unknown): void =>
          error ? reject(error as Error) : resolve(result);
        call({ text, values: [1], callback });
      }),
  };
  for (const [form, run] of Object.entries(forms)) {
    it(`TRACE-8 creates a span for ${form}, and returns what pg returns`, async () => {
      const other = plain();
      await other.query("delete from orders");
      await other.query("insert into orders values (1, 'a'), (2, 'b'), (3, 'c')");
      const { pool, spans } = traced();
      const client = await pool.connect();
      const untraced = await other.connect();
      const { rows, rowCount, command, fields } = (await run(callOf(client))) as pg.QueryResult;
      const expected = (await run(callOf(untraced))) as pg.QueryResult;
      client.release();
      untraced.release();
      expect({ rows, rowCount, command, fields }).to.deep.equal({
        rows: expected.rows,
        rowCount: expected.rowCount,
        command: expected.command,
        fields: expected.fields,
      });
      expect(rows).to.have.length(2);
      expect(spans.all).to.deep.equal([
        {
          name: "SELECT orders",
          attributes: {
            "db.system": "postgresql",
            "db.name": nameOf(database.url),
            "db.operation": "SELECT",
            "db.sql.table": "orders",
            "db.rows_affected": 2,
          },
          parent: undefined,
          ends: 1,
          failed: false,
        },
      ]);
    });
  }

  for (const [form, run] of Object.entries(forms)) {
    if (form === "a statement with a callback") continue;
    it(`creates one span for pool.query() with ${form}`, async () => {
      const { pool, spans } = traced();
      await run(callOf(pool));
      expect(spans.all).to.have.length(1);
      expect(spans.all[0]).to.include({ name: "SELECT orders", ends: 1 });
    });
  }

  it("passes `this`, the arguments and the return value through unchanged", async () => {
    const { pool, spans } = traced();
    const client = await pool.connect();
    const seen: unknown[] = [];
    const returned = {};
    class Fake {
      query(...args: unknown[]): unknown {
        seen.push(this, ...args);
        return returned;
      }
    }
    const fake = new Fake();
    pool.emit("acquire", fake as never);
    const values = Object.freeze([1]);
    const statement = Object.freeze({ text: "select $1", values });
    expect(fake.query(statement, values)).to.equal(returned);
    expect(seen).to.have.length(3);
    expect(seen[0]).to.equal(fake);
    expect(seen[1]).to.equal(statement);
    expect(seen[2]).to.equal(values);
    expect(spans.all[0]).to.include({ name: "SELECT", ends: 1 });
    client.release();
  });

  it("creates spans for the statements of a transaction", async () => {
    const { pool, spans } = traced();
    const client = await pool.connect();
    await client.query("BEGIN");
    await client.query("insert into orders values ($1, $2) on conflict do nothing", [10, "x"]);
    await client.query("savepoint a");
    await client.query("rollback");
    client.release();
    expect(spans.all.map(({ name }) => name)).to.deep.equal([
      "BEGIN",
      "INSERT orders",
      "SAVEPOINT",
      "ROLLBACK",
    ]);
    expect(spans.all.map(({ attributes }) => attributes["db.rows_affected"])).to.deep.equal([
      undefined,
      1,
      undefined,
      undefined,
    ]);
  });

  it("omits the row count of a query with several statements", async () => {
    const { pool, spans } = traced();
    const results: unknown = await pool.query("select 1; select 2");
    expect(results).to.be.an("array").with.length(2);
    expect(spans.all[0]?.name).to.equal("SELECT");
    expect(spans.all[0]?.attributes).to.not.have.any.keys("db.rows_affected", "db.sql.table");
  });

  it("TRACE-16 records the redacted text only if that is enabled", async () => {
    const secret = "select 'a secret', $1::int /* a secret */";
    const without = traced();
    await without.pool.query(secret, [42]);
    expect(JSON.stringify(without.spans.all)).to.not.contain("select");
    const { pool, spans } = traced({ recordStatement: true });
    await pool.query(secret, [42]);
    expect(spans.all[0]?.attributes["db.statement"]).to.equal("select ?, $1::int");
  });

  it("calls query() directly while no span is open", async () => {
    let analysed = 0;
    const statement = {
      get text() {
        analysed += 1;
        return "select 1 as one";
      },
    };
    const untraced = plain();
    await callOf(untraced)(statement);
    const reads = analysed;
    const { pool, spans } = traced({ isTracing: () => false });
    const result = (await callOf(pool)(statement)) as pg.QueryResult;
    expect(result.rows).to.deep.equal([{ one: 1 }]);
    expect(analysed).to.equal(2 * reads);
    expect(spans.all).to.deep.equal([]);
  });

  const wrapped = ({ query: __original }: { query: Call }): { query: Call } => ({
    query: Object.assign(
      function (this: unknown, ...args: unknown[]) {
        return __original.apply(this, args);
      },
      { __original },
    ),
  });
  const wrappers: Readonly<Record<string, (client: { query: Call }) => void>> = {
    "no wrapper": () => undefined,
    "a wrapper of the client": (client) => Object.assign(client, wrapped(client)),
    "an instrumentation of the class": (client) =>
      Object.setPrototypeOf(client, Object.setPrototypeOf(wrapped(client), Object.getPrototypeOf(client))),
  };
  for (const [name, wrap] of Object.entries(wrappers)) {
    const expected = name === "no wrapper" ? "request" : "SELECT";
    it(`with ${name}, runs query() in the context of the span ${expected}, and its callback in the caller's`, async () => {
      const { pool, spans } = traced();
      pool.once("connect", (client) => wrap(client as unknown as { query: Call }));
      const client = await pool.connect();
      const contexts: unknown[] = [];
      const { connection } = client as unknown as { readonly connection: { query: (text: string) => void } };
      const { query } = connection;
      connection.query = (sent) => {
        contexts.push(spans.active());
        query.call(connection, sent);
      };
      await spans.inside("request", () =>
        withCallback((...args) => {
          const callback = args.pop() as (error: unknown) => void;
          callOf(client)(...args, (error: unknown) => {
            contexts.push(spans.active());
            callback(error);
          });
        }, "select 1"),
      );
      client.release();
      expect(contexts).to.deep.equal([expected, "request"]);
      expect(spans.all[0]?.parent).to.equal("request");
    });
  }

  it("makes the span of a statement that waits for a connection a child of its own request", async () => {
    const { pool, spans } = traced();
    const first = await pool.connect();
    const waiting = spans.inside("second", () => pool.query("select 2"));
    await spans.inside("first", async () => {
      await first.query("select 1");
      first.release();
      await waiting;
    });
    expect(spans.all.map(({ parent }) => parent)).to.deep.equal(["first", "second"]);
  });

  it("keeps the spans of concurrent statements separate", async () => {
    const pool = plain({ max: 4 });
    const { spans, traceQueries } = createTracing();
    traceQueries(pool);
    await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        spans.inside(`request ${index}`, async () => {
          const { rows } = await pool.query("select generate_series(1, $1::int) as n", [index]);
          expect(rows).to.have.length(index);
        }),
      ),
    );
    expect(spans.all).to.have.length(40);
    for (const { parent, attributes, ends } of spans.all) {
      expect(`request ${attributes["db.rows_affected"]}`).to.equal(parent);
      expect(ends).to.equal(1);
    }
  });

  it("traces the connections of a pool that is in use", async () => {
    const pool = plain({ max: 2 });
    const used = await pool.connect();
    await pool.query("select 'idle'");
    const { spans, traceQueries } = createTracing();
    traceQueries(pool);
    await used.query("select 0");
    expect(spans.all).to.have.length(0);
    await pool.query("select 1");
    expect(spans.all).to.have.length(1);
    used.release();
    await pool.query("select 2");
    expect(spans.all).to.have.length(2);
    expect(pool.totalCount).to.equal(2);
  });

  it("creates one span per statement after several calls for the same pool", async () => {
    const { pool, spans, traceQueries } = traced();
    await pool.query("select 1");
    traceQueries(pool);
    traceQueries({ pool });
    await pool.query("select 1");
    expect(spans.all).to.have.length(2);
    expect(pool.listenerCount("acquire")).to.equal(1);
  });

  it("traces the statements and transactions of a database from @svc/database", async () => {
    const { spans, traceQueries } = createTracing();
    await using db = createDatabase({ url: database.url, max: 1 });
    traceQueries(db);
    await db.query("select note from orders");
    await db.transaction((tx) => tx.query("delete from orders where id = $1", [99]));
    expect(spans.all.map(({ name }) => name)).to.deep.equal([
      "SELECT orders",
      "BEGIN",
      "DELETE orders",
      "COMMIT",
    ]);
  });

  it("runs a planned statement as a named prepared statement", async () => {
    const { pool, spans } = traced();
    const statement = { name: "test_note", text: `select $1::text as note, ${SESSION_COLUMN}` };
    for (const note of ["a", "b", "c"]) {
      const deadline = { operation: "ask()", timeoutMs: 10_000 };
      const { rows } = await plannedWithin(pool, deadline, { ...statement, values: [note] });
      expect(rows[0]).to.include({ note });
    }
    const { rows } = await pool.query("select name from pg_prepared_statements");
    expect(rows).to.deep.equal([{ name: "test_note" }]);
    expect(spans.all).to.have.length(4);
  });

  it("sends a planned statement as SQL text if query() has another wrapper", async () => {
    const pool = plain();
    const sent: unknown[] = [];
    pool.on("connect", (client) => {
      const query = client.query.bind(client) as Call;
      (client as { query: unknown }).query = (...args: unknown[]) => {
        sent.push(args[0]);
        return query(...args);
      };
    });
    const { spans, traceQueries } = createTracing();
    traceQueries(pool);
    for (const note of ["a", "b"]) {
      const statement = {
        name: "test_note",
        text: `select $1::text as note, ${SESSION_COLUMN}`,
        values: [note],
      };
      await plannedWithin(pool, { operation: "ask()", timeoutMs: 10_000 }, statement);
    }
    expect(sent.every((each) => typeof each === "string")).to.equal(true);
    expect(spans.all).to.have.length(2);
  });

  const wrong: readonly (readonly [what: string, value: unknown, got: string])[] = [
    ["undefined", undefined, "undefined"],
    ["null", null, "null"],
    ["a string", "postgres://user:secret@host/db", "a string"],
    ["an empty object", {}, "an object of the class Object"],
    ["an object whose pool is an empty object", { pool: {} }, "an object of the class Object"],
    ["an object without a class", Object.create(null), "an object"],
    ["a client", new pg.Client(), "an object of the class Client"],
    ["a function", () => undefined, "a function"],
  ];
  for (const [what, value, got] of wrong) {
    it(`rejects ${what} instead of a pool`, async () => {
      const { traceQueries } = createTracing();
      const error = await rejection(() => traceQueries(value as TracedPool));
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.equal(`traceQueries() needs a pg Pool or an object with a pool; got ${got}`);
    });
  }
});
