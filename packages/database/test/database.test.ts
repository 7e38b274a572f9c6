import { createDatabase, type Database } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { ensureSchema, sqlStateOf } from "@svc/sql";
import { collectingLogger, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { PATIENT } from "./support/patient.ts";
import { problem } from "./support/problem.ts";

describe("createDatabase", () => {
  const postgres = testDatabase({ name: "database" });
  let database: Database;
  before(async () => {
    database = createDatabase({
      url: postgres.url,
      max: 2,
      statementTimeoutMs: 5000,
      applicationName: "tested",
    });
    await database.query("create table items (id int primary key)");
  });
  after(() => database.stop());

  it("runs statements with parameters", async () => {
    const { rows } = await database.query<{ sum: number }>("select $1::int + $2::int as sum", [1, 2]);
    expect(rows).to.deep.equal([{ sum: 3 }]);
    const shown = await database.query("select current_setting('application_name') as name");
    expect(shown.rows).to.deep.equal([{ name: "tested" }]);
  });

  it("commits a transaction that returns, and rolls back one that throws", async () => {
    const result = await database.transaction(async (tx) => {
      await tx.query("insert into items values (1)");
      return "done";
    });
    expect(result).to.equal("done");
    const error = await rejection(
      database.transaction(async (tx) => {
        await tx.query("insert into items values (2)");
        throw new Error("no");
      }),
    );
    expect(error.message).to.equal("no");
    const { rows } = await database.query("select id from items order by id");
    expect(rows).to.deep.equal([{ id: 1 }]);
  });

  it("propagates a statement's errors unchanged, and keeps its connection in the pool", async () => {
    const one = createDatabase({ url: postgres.url, max: 1 });
    const pid = async (): Promise<unknown> => (await one.query("select pg_backend_pid() as pid")).rows[0];
    const before = await pid();
    const error = await rejection(one.query("insert into items values (1), (1)"));
    expect(sqlStateOf(error)).to.equal("23505");
    expect(error).to.not.have.property("status");
    expect(await pid()).to.deep.equal(before);
    await one.stop();
  });

  it("returns 503 for a statement that takes too long, and keeps its connection", async () => {
    await using hurried = createDatabase({ url: postgres.url, max: 1, statementTimeoutMs: 500 });
    // Repeat: the client's own limit is only half a second longer, so on a slow machine it may close the connection first.
    const pid = async (): Promise<unknown> => (await hurried.query("select pg_backend_pid() as pid")).rows[0];
    await until("the server has ended it, and nothing else", async () => {
      const before = await pid().catch(() => undefined);
      if (before === undefined) return false;
      const { status, detail, code, headers, cause } = await problem(hurried.query("select pg_sleep(60)"));
      expect({ status, detail, code, headers }).to.deep.equal({
        status: 503,
        detail: "the database did not answer in time; retry shortly",
        code: "ERR_SVC_DATABASE_TIMEOUT",
        headers: { "Retry-After": "1" },
      });
      if (sqlStateOf(cause) !== "57014") return false;
      const after = await pid().catch(() => undefined);
      if (after !== undefined) expect(after).to.deep.equal(before);
      return after !== undefined;
    });
    expect(hurried.pool.totalCount).to.equal(1);
  });

  it("closes a connection that is released with an open transaction", async () => {
    const one = createDatabase({ url: postgres.url, max: 1 });
    const first = await one.connect();
    await first.query("begin");
    await first.query("insert into items values (99)");
    expect(first.getTransactionStatus()).to.equal("T");
    first.release();
    first.release();
    expect((await rejection(first.query("select 1"))).message).to.contain("after it was returned");
    const second = await one.connect();
    expect(second.getTransactionStatus()).to.equal("I");
    expect((await second.query("select 1 from items where id = 99")).rows).to.deep.equal([]);
    second.release();
    await one.stop();
  });

  it("lets ensureSchema() create the tables of other packages once", async () => {
    const schema = {
      name: "made",
      statements: ["create table made (id int)"],
      tables: { made: { id: "integer" } },
    };
    expect(await ensureSchema(database, schema)).to.equal("created");
    expect(await ensureSchema(database, schema)).to.equal("present");
  });

  it("completes a readiness check although another caller of the same check aborts", async () => {
    await using checked = createDatabase({ url: postgres.url, ...PATIENT });
    const ask = async (signal: AbortSignal): Promise<object> => checked.readiness().check(signal);
    // The first check opens the connection, the second one uses it again.
    for (const _each of [1, 2]) {
      const impatient = new AbortController();
      const aborted = ask(impatient.signal);
      const kept = ask(new AbortController().signal);
      impatient.abort();
      expect(await aborted).to.include({ healthy: false });
      expect(await kept).to.include({ healthy: true, detail: "connected" });
    }
  });

  it("returns 503 after stop(), which may be called repeatedly", async () => {
    const short = createDatabase({ url: postgres.url });
    await short.query("select 1");
    await Promise.all([short.stop(), short.stop()]);
    await short[Symbol.asyncDispose]();
    expect((await problem(short.query("select 1"))).status).to.equal(503);
    const result = await short.readiness().check(new AbortController().signal);
    expect(result).to.include({ healthy: false, detail: "closed" });
  });

  it("cuts connections that are still in use after stopTimeoutMs, and logs a warning", async () => {
    const logger = collectingLogger();
    const busy = createDatabase({ url: postgres.url, stopTimeoutMs: 50, logger });
    const running = problem(busy.query("select pg_sleep(60)"));
    await busy.readiness().check(new AbortController().signal);
    while (busy.pool.idleCount > 0 || busy.pool.totalCount === 0) await new Promise(setImmediate);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await busy.stop();
    expect((await running).status).to.equal(503);
    // The count includes the connection of the readiness check if that is still closing.
    expect(logger.texts.join("\n"))
      .to.match(/"connections":[12]\}/)
      .and.to.contain("in use at the deadline");
  });
});
