import { createDatabase, type Database, type DatabaseOptions, enableRowSecurity } from "@svc/database";
import { testPostgresServer } from "@svc/dev-services";
import { ConfigurationError } from "@svc/options";
import { type Queryable, sqlStateOf } from "@svc/sql";
import { collectingLogger, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { EventEmitter } from "node:events";
import { Client, Pool, type PoolConfig } from "pg";
import { type Login, makeLogin } from "./support/login.ts";
import { ask, callersPools, DEADLINES } from "./support/callers-pools.ts";
import { PATIENT } from "./support/patient.ts";
import { problem } from "./support/problem.ts";

const EVENTS = ["connect", "acquire", "release", "remove", "error"] as const;

const pidOf = async (on: Queryable): Promise<unknown> =>
  (await on.query("select pg_backend_pid() as pid")).rows[0]?.["pid"];

describe("createDatabase({ pool })", function () {
  this.timeout(60_000);
  const { postgres, poolOf, guarded } = callersPools("callers");

  it("runs statements and transactions, and is ready, on connections with the pool's own settings", async () => {
    const pool = poolOf({
      max: 3,
      application_name: "theirs",
      types: { getTypeParser: () => (text: string) => `parsed ${text}` } as NonNullable<PoolConfig["types"]>,
    });
    await using database = guarded(pool);
    expect(database.pool).to.equal(pool);
    const { rows } = await database.query("select current_setting('application_name') as name, 1 as one");
    expect(rows).to.deep.equal([{ name: "parsed theirs", one: "parsed 1" }]);
    await database.transaction((tx) => tx.query("create table items (id int primary key)"));
    const failed = await rejection(
      database.transaction(async (tx) => {
        await tx.query("insert into items values (1)");
        throw new Error("no");
      }),
    );
    expect(failed.message).to.equal("no");
    expect((await pool.query("select id from items")).rows).to.deep.equal([]);
    expect(await ask(database)).to.deep.equal({
      healthy: true,
      detail: "connected",
      meta: { total: 1, idle: 1, waiting: 0, max: 3 },
    });
  });

  it("leaves a connection's settings unchanged, and uses the same connection again", async () => {
    const pool = poolOf({ max: 1 });
    const settings = async (): Promise<unknown> =>
      (await pool.query("select name, setting from pg_settings order by name")).rows;
    const pid = await pidOf(pool);
    const before = await settings();
    await using database = guarded(pool);
    await database.query("select 1");
    await database.transaction((tx) => tx.query("select 1"));
    await database.withTenant("acme", (tx) => tx.query("select 1"));
    expect(await settings()).to.deep.equal(before);
    expect([await pidOf(database), await pidOf(pool)]).to.deep.equal([pid, pid]);
  });

  it("returns 503 for a statement that takes too long, has the server cancel it, and closes the connection", async () => {
    const pool = poolOf({ max: 1 });
    await using database = guarded(pool, { statementTimeoutMs: 500 });
    await using other = createDatabase({ url: postgres.url, ...PATIENT });
    // Repeat, because on a slow machine the client may close the connection before the server cancels the statement.
    await until("the server has cancelled the statement", async () => {
      const before = await pidOf(pool);
      const { status, code, cause } = await problem(database.query("select pg_sleep(60)"));
      expect({ status, code }).to.deep.equal({ status: 503, code: "ERR_SVC_DATABASE_TIMEOUT" });
      expect(await pidOf(pool)).not.to.equal(before);
      return sqlStateOf(cause) === "57014";
    });
    const running = "select 1 from pg_stat_activity where query = 'select pg_sleep(60)' and state = 'active'";
    await until("no statement runs", async () => (await other.query(running)).rows.length === 0);
  });

  it("does not limit or cancel statements that the caller runs on the pool", async () => {
    const pool = poolOf({ max: 1 });
    await using database = guarded(pool, { statementTimeoutMs: 50 });
    // Repeat: on a slow machine the statement may exceed the short deadline.
    await until("it lends the connection", () => database.query("select 1").catch(() => undefined));
    expect((await pool.query("select pg_sleep(0.2), 1 as one")).rows).to.have.lengthOf(1);
  });

  it("closes a connection whose statement exceeded the pool's own query_timeout, and does not open the breaker", async () => {
    const pool = poolOf({ max: 2, query_timeout: 500 });
    await using database = guarded(pool, { breakerFailures: 1 });
    const idle = await database.connect();
    const kept = await pidOf(idle);
    expect((await problem(database.query("select pg_sleep(60)"))).code).to.equal("ERR_SVC_DATABASE_TIMEOUT");
    idle.release();
    expect(await pidOf(database)).to.equal(kept);
    await using other = createDatabase({ url: postgres.url, ...PATIENT });
    const running = "select 1 from pg_stat_activity where query = 'select pg_sleep(60)' and state = 'active'";
    await until("the server has cancelled it", async () => (await other.query(running)).rows.length === 0);
  });

  it("returns 503 when the caller holds all connections for acquireTimeoutMs, and releases a connection that arrives later", async () => {
    const pool = poolOf({ max: 2 });
    const earlier = await pool.connect();
    await using database = guarded(pool, { acquireTimeoutMs: 200, breakerFailures: 1 });
    const later = await pool.connect();
    expect(await problem(database.query("select 1"))).to.include({
      status: 503,
      code: "ERR_SVC_DATABASE_POOL_EXHAUSTED",
    });
    later.release();
    earlier.release();
    await until("it lends a connection", () => database.query("select 1").catch(() => undefined));
    expect(pool).to.include({ idleCount: 2, waitingCount: 0 });
  });

  it("opens the breaker after failed connection attempts, and then rejects without calling the pool", async () => {
    const logger = collectingLogger();
    // Nothing listens on port 1, whereas another process could take a free port during the test.
    const pool = poolOf({ connectionString: "postgres://app:s3cret@127.0.0.1:1/x" });
    await using database = guarded(pool, { logger, breakerCoolDownMs: 60_000 });
    let asked = 0;
    const connect = pool.connect.bind(pool) as (...args: unknown[]) => unknown;
    pool.connect = ((...args: unknown[]) => {
      asked += 1;
      return connect(...args);
    }) as typeof pool.connect;
    for (const _each of [1, 2]) {
      expect((await problem(database.query("select 1"))).code).to.equal("ERR_SVC_DATABASE_UNAVAILABLE");
    }
    expect(asked).to.equal(2);
    const refused = await problem(database.query("select 1"));
    expect((refused.cause as Error).name).to.equal("BreakerOpenError");
    expect(Number(refused.headers?.["Retry-After"])).to.be.within(2, 60);
    expect(asked).to.equal(2);
    const check = await ask(database);
    expect(check).to.include({ healthy: false, detail: "not answering (ECONNREFUSED)" });
    expect(`${JSON.stringify(check)}${logger.texts.join()}`).to.not.contain("s3cret");
    expect(logger.at("error")).to.deep.equal([
      "the database is not answering; connection attempts are paused",
    ]);
  });

  it("closes a connection that the caller returned with an open transaction", async () => {
    const pool = poolOf({ max: 1 });
    await using database = guarded(pool);
    await database.query("create table if not exists kept (id int)");
    const client = await pool.connect();
    const before = await pidOf(client);
    await client.query("begin; insert into kept values (1)");
    client.release();
    await database.transaction((tx) => tx.query("insert into kept values (2)"));
    expect((await database.query("select id from kept")).rows).to.deep.equal([{ id: 2 }]);
    expect(await pidOf(database)).not.to.equal(before);
  });

  it("logs a message when an idle connection breaks, and then opens a new one", async () => {
    const logger = collectingLogger();
    const pool = poolOf({ max: 1 });
    await using database = guarded(pool, { logger });
    await using other = createDatabase({ url: postgres.url, ...PATIENT });
    await other.query("select pg_terminate_backend($1)", [await pidOf(database)]);
    await until("the pool has noticed", () => pool.totalCount === 0);
    expect((await database.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
    expect(logger.at("warn")).to.deep.equal(["a database connection broke"]);
  });

  describe("stop()", () => {
    it("leaves the pool open and without listeners; statements return 503 afterwards", async () => {
      const pool = poolOf();
      const count = (): number[] => EVENTS.map((event) => pool.listenerCount(event));
      const before = count();
      const logger = collectingLogger();
      const database = guarded(pool, { logger });
      await database.query("select 1");
      expect(await ask(database)).to.include({ healthy: true });
      await database.stop();
      await database.stop();
      expect(count()).to.deep.equal(before);
      expect(await problem(database.query("select 1"))).to.include({
        status: 503,
        code: "ERR_SVC_DATABASE_UNAVAILABLE",
      });
      expect(await ask(database)).to.include({ healthy: false, detail: "closed" });
      expect((await pool.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
      expect(logger.texts).to.deep.equal([]);
    });

    it("waits for connections that the database checked out, but not for the caller's", async () => {
      const pool = poolOf();
      const logger = collectingLogger();
      const database = guarded(pool, { logger });
      const lent = await database.connect();
      const theirs = await pool.connect();
      let stopped = false;
      const stopping = database.stop().then(() => (stopped = true));
      await lent.query("select 1");
      expect(stopped).to.equal(false);
      lent.release();
      await stopping;
      expect(logger.texts).to.deep.equal([]);
      expect((await theirs.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
      theirs.release();
    });

    it("at stopTimeoutMs cuts connections that the database checked out, but not the caller's, and logs a warning", async () => {
      const pool = poolOf();
      const logger = collectingLogger();
      const database = guarded(pool, { logger, stopTimeoutMs: 50 });
      const theirs = await pool.connect();
      const lent = await database.connect();
      const running = problem(lent.query("select pg_sleep(60)"));
      await database.stop();
      expect((await running).code).to.equal("ERR_SVC_DATABASE_UNAVAILABLE");
      lent.release();
      expect((await theirs.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
      theirs.release();
      expect(logger.texts).to.have.lengthOf(1);
      expect(logger.texts[0]).to.contain("connections were cut").and.to.contain('"connections":1');
    });

    it("closes the pool if closePool is set, and cuts the caller's connections at the deadline", async () => {
      const pool = poolOf();
      const logger = collectingLogger();
      const database = guarded(pool, { closePool: true, stopTimeoutMs: 50, logger });
      await database.query("select 1");
      const theirs = await pool.connect();
      const lost = new Promise((resolve) => theirs.once("end", resolve));
      await database.stop();
      await lost;
      theirs.release();
      expect(pool.ending).to.equal(true);
      expect(logger.texts).to.have.lengthOf(1);

      const idle = poolOf();
      await guarded(idle, { closePool: true, logger }).stop();
      const ended = guarded(poolOf(), { closePool: true, logger });
      await ended.pool.end();
      await ended.stop();
      expect(idle.ended).to.equal(true);
      expect(logger.texts).to.have.lengthOf(1);
    });

    it("rejects a request that still waits for a connection", async () => {
      const pool = poolOf({ max: 1 });
      const database = guarded(pool);
      const theirs = await pool.connect();
      const waiting = problem(database.query("select 1"));
      const stopping = database.stop();
      theirs.release();
      await stopping;
      expect((await waiting).code).to.equal("ERR_SVC_DATABASE_UNAVAILABLE");
      expect(pool.idleCount).to.equal(1);
    });
  });

  describe("withTenant()", () => {
    let login: Login;
    before(async () => void (login = await makeLogin(postgres.url)));
    after(() => login.drop());

    it("shows only the tenant's rows, and leaves no tenant on the caller's connection", async () => {
      const pool = poolOf({ connectionString: login.url, max: 1 });
      await using database = guarded(pool);
      await database.query("create table letters (tenant_id text not null)");
      await enableRowSecurity(database, { table: "letters" });
      for (const tenant of ["acme", "globex"]) {
        await database.withTenant(tenant, (tx) => tx.query("insert into letters values ($1)", [tenant]));
      }
      const all = "select tenant_id from letters";
      const seen = await database.withTenant("acme", (tx) => tx.query(all));
      expect(seen.rows).to.deep.equal([{ tenant_id: "acme" }]);
      expect((await pool.query(all)).rows).to.deep.equal([]);
      const foreign = await rejection(
        database.withTenant("acme", (tx) => tx.query("insert into letters values ('globex')")),
      );
      expect(sqlStateOf(foreign)).to.equal("42501");
      const set = await rejection(database.query("set svc.tenant = 'acme'"));
      expect(set).to.include({ code: "ERR_SVC_DATABASE_TENANT" });
      expect(await ask(database)).to.deep.include({
        meta: { total: 1, idle: 1, waiting: 0, max: 1, row_security: "enforced" },
      });
    });

    it("leaves no tenant on the connection after a statement that took too long", async () => {
      const pool = poolOf({ connectionString: login.url, max: 1 });
      await using database = guarded(pool, { statementTimeoutMs: 300 });
      const late = await problem(database.withTenant("acme", (tx) => tx.query("select pg_sleep(60)")));
      expect(late.status).to.equal(503);
      const { rows } = await pool.query("select current_setting('svc.tenant', true) as tenant");
      expect(rows[0]?.["tenant"]).to.be.oneOf([null, ""]);
    });
  });
});

describe("createDatabase({ pool }) with a server that hangs", function () {
  this.timeout(60_000);
  const postgres = testPostgresServer();
  const SHORT = {
    acquireTimeoutMs: 300,
    statementTimeoutMs: 300,
    readinessTimeoutMs: 300,
    stopTimeoutMs: 300,
  };
  let pool: Pool;
  beforeEach(() => void (pool = new Pool({ connectionString: postgres.url, max: 3 })));
  afterEach(() => pool.end());

  /** Opens all connections of the pool; repeats if the machine was too slow. */
  async function warm(database: Database): Promise<readonly unknown[]> {
    return until("the pool is warm", async () => {
      const pids = [1, 2, 3].map(() => database.query("select pg_backend_pid() as pid, pg_sleep(0.05)"));
      const all = await Promise.all(pids).catch(() => undefined);
      return all?.map(({ rows }) => rows[0]?.["pid"]);
    });
  }

  it("returns 503 in bounded time, then immediately, and recovers with new connections and without a restart", async () => {
    const logger = collectingLogger();
    await using database = createDatabase({ pool, ...SHORT, breakerCoolDownMs: 2000, logger });
    const before = await warm(database);
    postgres.server.pause();
    try {
      const first = await Promise.all(Array.from({ length: 9 }, () => problem(database.query("select 1"))));
      expect(new Set(first.map(({ status }) => status))).to.deep.equal(new Set([503]));
      await until("refused immediately", async () => {
        const { cause } = await problem(database.query("select 1"));
        return (cause as Error).name === "BreakerOpenError";
      });
      expect(await ask(database)).to.include({ healthy: false, detail: "no answer within 300 ms" });
    } finally {
      postgres.server.resume();
    }
    const after = await warm(database);
    expect(after.filter((pid) => before.includes(pid))).to.deep.equal([]);
    await until("it is logged", async () => {
      await database.query("select 1").catch(() => undefined);
      return logger.at("info").includes("the database is answering again");
    });
    expect(pool.waitingCount).to.equal(0);
  });

  it("closes connections that were idle during the hang instead of reusing them", async () => {
    await using database = createDatabase({ pool, ...SHORT, breakerCoolDownMs: 100 });
    const before = await warm(database);
    postgres.server.pause();
    try {
      expect((await problem(database.query("select 1"))).code).to.equal("ERR_SVC_DATABASE_TIMEOUT");
    } finally {
      postgres.server.resume();
    }
    expect((await warm(database)).filter((pid) => before.includes(pid))).to.deep.equal([]);
  });

  it("opens the breaker, and does not report that all connections are in use, while new ones cannot be opened", async () => {
    await using database = createDatabase({ pool, ...SHORT, breakerCoolDownMs: 60_000 });
    postgres.server.pause();
    try {
      const all = await Promise.all(Array.from({ length: 6 }, () => problem(database.query("select 1"))));
      expect(new Set(all.map(({ code }) => code))).to.deep.equal(new Set(["ERR_SVC_DATABASE_UNAVAILABLE"]));
      const { cause } = await problem(database.query("select 1"));
      expect((cause as Error).name).to.equal("BreakerOpenError");
    } finally {
      postgres.server.resume();
    }
  });

  it("stops at stopTimeoutMs, and leaves the pool usable afterwards", async () => {
    const logger = collectingLogger();
    const database = createDatabase({ pool, ...SHORT, statementTimeoutMs: 15_000, logger });
    await warm(database);
    const lent = await database.connect();
    postgres.server.pause();
    try {
      const running = problem(lent.query("select 1"));
      await database.stop();
      lent.release();
      expect((await running).code).to.equal("ERR_SVC_DATABASE_UNAVAILABLE");
      expect(logger.at("warn")).to.include("database connections were cut");
    } finally {
      postgres.server.resume();
    }
    expect((await pool.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
  });

  it("survives a crash of the server, and recovers when the server is back", async () => {
    await using database = createDatabase({ pool, ...DEADLINES });
    await warm(database);
    const held = await database.connect();
    await held.query("begin");
    await postgres.server.kill();
    expect((await problem(held.query("select 1"))).code).to.equal("ERR_SVC_DATABASE_UNAVAILABLE");
    held.release();
    await postgres.server.restart();
    await warm(database);
    expect(await ask(database)).to.include({ healthy: true, detail: "connected" });
  });
});

describe("createDatabase({ pool }) with a password", function () {
  this.timeout(60_000);
  const postgres = testPostgresServer({ password: "right-one" });

  for (const [what, password] of [
    ["a string", "right-one"],
    ["a function", () => Promise.resolve("right-one")],
  ] as const) {
    it(`opens the connection of the readiness check with the pool's password, which is ${what}`, async () => {
      const { hostname, port, username, pathname } = new URL(postgres.url);
      const place = { host: hostname, port: Number(port), user: username, database: pathname.slice(1) };
      const pool = new Pool({ ...place, password });
      await using database = createDatabase({ pool, closePool: true, ...DEADLINES });
      expect(await ask(database)).to.include({ healthy: true, detail: "connected" });
      expect((await database.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
    });
  }
});

describe("createDatabase({ pool }) with invalid options", () => {
  const pool = new Pool({ connectionString: "postgres://app:s3cret@127.0.0.1:1/x" });
  after(() => pool.end());

  function faultsOf(options: object): readonly string[] {
    try {
      void createDatabase(options as DatabaseOptions).stop();
    } catch (error) {
      expect(error).to.be.instanceOf(ConfigurationError);
      expect((error as Error).message)
        .to.contain("createDatabase()")
        .and.not.contain("s3cret");
      return (error as ConfigurationError).faults.map(({ key, message }) => `${key} ${message}`);
    }
    return [];
  }

  it("rejects each option for connections that the package opens itself, even if its value is the default", () => {
    const options = {
      url: "postgres://app:s3cret@h/x",
      host: "h",
      port: 5432,
      database: "d",
      user: "u",
      password: "s3cret",
      ssl: true,
      applicationName: "svc",
      max: 10,
      connectTimeoutMs: 2000,
      idleTimeoutMs: 30_000,
    };
    expect(faultsOf({ pool, ...options })).to.deep.equal(
      Object.keys(options).map((key) => `${key} cannot be combined with pool, whose own settings apply`),
    );
  });

  it("rejects a value that lacks a member of a pool, without showing the value", () => {
    const members = {
      connect: () => undefined,
      on: () => undefined,
      removeListener: () => undefined,
      totalCount: 0,
      idleCount: 0,
      waitingCount: 0,
      options: { max: 1 },
    };
    expect(faultsOf({ pool: { ...members } })).to.deep.equal([]);
    const lacking = Object.keys(members).map((name) => ({ ...members, [name]: undefined }));
    const others = [{ ...members, options: {} }, new Client("postgres://app:s3cret@h/x"), "s3cret", null];
    for (const value of [...lacking, ...others]) {
      expect(faultsOf({ pool: value })).to.deep.equal([
        "pool must be a pg pool (an object with connect(), on(), removeListener(), totalCount, idleCount, " +
          "waitingCount and options.max) (the value is not shown)",
      ]);
    }
    expect(faultsOf({ pool: members, closePool: true })).to.deep.equal([
      "pool must have end(), because closePool is set",
    ]);
  });

  it("rejects a pool that has ended, a pool of a driver without a transaction status, and closePool without a pool", async () => {
    const ended = new Pool();
    await ended.end();
    expect(faultsOf({ pool: ended })).to.deep.equal(["pool has ended; pass a pool that is open"]);
    class OldClient extends EventEmitter {}
    const old = new Pool();
    Object.assign(old, { Client: OldClient });
    expect(faultsOf({ pool: old })).to.deep.equal([
      "pool has connections without getTransactionStatus(); use pg 8.21 or later, not pg.native",
    ]);
    await old.end();
    const url = "postgres://app:s3cret@h/x";
    expect(faultsOf({ url, closePool: true })).to.deep.equal(["closePool requires pool"]);
    expect(faultsOf({ pool, closePool: 1 })).to.deep.equal(["closePool must be true or false; it is 1"]);
  });
});
