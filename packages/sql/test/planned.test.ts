import { testDatabase, testPgBouncer, openTestLogin } from "@svc/dev-services";
import { bounded, type PlannedStatement, plannedWithin, SESSION_COLUMN, withTransaction } from "@svc/sql";
import { expect } from "chai";
import pg from "pg";

const DEADLINE = { operation: "ask()", timeoutMs: 10_000 };
const statement = (values: readonly unknown[]): PlannedStatement => ({
  name: "test_note",
  text: `insert into notes (note) values ($1) returning note, ${SESSION_COLUMN}`,
  values: [...values],
});

describe("plannedWithin()", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "sql-planned" });
  const pgBouncer = testPgBouncer();
  const pools: pg.Pool[] = [];
  const open = (url: string): pg.Pool => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    pool.on("error", () => undefined);
    pools.push(pool);
    return pool;
  };
  before(async () => {
    await open(database.url).query("create table notes (note text)");
  });
  const close = (): Promise<unknown> => Promise.all(pools.splice(0).map((pool) => pool.end()));
  afterEach(close);

  /** Returns the names of the statements that the session has prepared. */
  const kept = async (pool: pg.Pool): Promise<readonly string[]> =>
    (await pool.query<{ name: string }>("select name from pg_prepared_statements")).rows.map(
      ({ name }) => name,
    );

  it("plans a statement once on a direct connection to the server", async () => {
    const pool = open(database.url);
    for (const note of ["a", "b", "c"]) {
      expect((await plannedWithin(pool, DEADLINE, statement([note]))).rows[0]).to.include({ note });
    }
    expect(await kept(pool)).to.eql(["test_note"]);
  });

  it("sends the statement as SQL text on the first call of a connection", async () => {
    const pool = open(database.url);
    await plannedWithin(pool, DEADLINE, statement(["a"]));
    expect(await kept(pool)).to.eql([]);
  });

  it("sends the statement again as SQL text after the session has discarded its prepared statements", async () => {
    const pool = open(database.url);
    await plannedWithin(pool, DEADLINE, statement(["a"]));
    await plannedWithin(pool, DEADLINE, statement(["b"]));
    await pool.query("discard all");
    await pool.query("truncate notes");
    for (const note of ["c", "d"]) await plannedWithin(pool, DEADLINE, statement([note]));
    expect((await pool.query("select note from notes order by note")).rows).to.eql([
      { note: "c" },
      { note: "d" },
    ]);
  });

  it("sends the statement again as SQL text after a result column has changed its type", async () => {
    const pool = open(database.url);
    await plannedWithin(pool, DEADLINE, statement(["a"]));
    await plannedWithin(pool, DEADLINE, statement(["b"]));
    await pool.query("alter table notes alter column note type varchar(20)");
    expect((await plannedWithin(pool, DEADLINE, statement(["c"]))).rows[0]).to.include({ note: "c" });
    await pool.query("alter table notes alter column note type text");
  });

  it("rejects with the server's error and leaves the connection usable", async () => {
    const pool = open(database.url);
    await pool.query("create temp table notes (note int)");
    await plannedWithin(pool, DEADLINE, statement([1]));
    const error = await plannedWithin(pool, DEADLINE, statement(["no number"])).catch(
      (reason: unknown) => reason,
    );
    expect(error).to.include({ code: "22P02" });
    expect((await plannedWithin(pool, DEADLINE, statement([2]))).rows[0]).to.include({ note: 2 });
    expect(pool.totalCount).to.equal(1);
  });

  it("sends the statement as SQL text through a wrapper that accepts only SQL text", async () => {
    const pool = open(database.url);
    const texts: string[] = [];
    const wrapping = {
      async connect() {
        const client = await pool.connect();
        return {
          processID: (client as unknown as { readonly processID: number }).processID,
          query: (text: string, values?: unknown[]) => {
            texts.push(text.trim());
            return client.query(text, values);
          },
          release: (error?: Error | boolean) => client.release(error),
        };
      },
    };
    for (const note of ["a", "b", "c"]) await plannedWithin(wrapping as never, DEADLINE, statement([note]));
    expect(texts).to.have.length(3);
    expect(await kept(pool)).to.eql([]);
  });

  it("sends the statement as SQL text through bounded()", async () => {
    const pool = open(database.url);
    for (const note of ["a", "b", "c"]) {
      await plannedWithin(bounded(pool, DEADLINE), DEADLINE, statement([note]));
    }
    expect(await kept(pool)).to.eql([]);
  });

  it("sends the statement as SQL text in the caller's transaction", async () => {
    const pool = open(database.url);
    await withTransaction(pool, async (tx) => {
      for (const note of ["a", "b"]) await plannedWithin(tx, DEADLINE, statement([note]));
    });
    expect(await kept(pool)).to.eql([]);
  });

  it("sends the statement as SQL text behind a pooler, where the next statement may run in another session", async () => {
    await using login = await openTestLogin({ url: database.url, grants: ["grant all on notes to login"] });
    await using bouncer = await pgBouncer.start(login.url, 1);
    const pool = open(bouncer.url);
    for (const note of ["a", "b", "c"]) {
      expect((await plannedWithin(pool, DEADLINE, statement([note]))).rows[0]).to.include({ note });
    }
    expect(await kept(pool)).to.eql([]);
    await close();
  });
});
