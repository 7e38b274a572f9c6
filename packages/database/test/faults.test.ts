import type { CheckResult } from "@svc/context";
import { createDatabase, type Database, type DatabaseOptions } from "@svc/database";
import { testPostgresServer } from "@svc/dev-services";
import type { ProblemError } from "@svc/problem";
import { isConnectionError } from "@svc/sql";
import {
  type CollectingLogger,
  collectingLogger,
  rejection,
  startEndingPostgres,
  until,
} from "@svc/test-support";
import { expect } from "chai";
import { Client } from "pg";
import { PATIENT } from "./support/patient.ts";
import { problem } from "./support/problem.ts";

// This time limit is far above every deadline in this file.
const SOON_MS = 20_000;

// Nothing listens on port 1, whereas another process could take a free port during the test.
const CLOSED_PORT = 1;

// Short deadlines for tests with a hung server, which wait until the deadlines pass.
const DEADLINES = {
  connectTimeoutMs: 300,
  acquireTimeoutMs: 300,
  statementTimeoutMs: 300,
  readinessTimeoutMs: 300,
  breakerCoolDownMs: 100,
  stopTimeoutMs: 300,
} as const;

function ask(database: Database): Promise<CheckResult> {
  return Promise.resolve(database.readiness().check(new AbortController().signal));
}

async function soon<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("it took far longer than its deadline")), SOON_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Retries a statement until it succeeds, and returns its rows; each failure must be a 503. */
async function answer(database: Database, text = "select 1 as one"): Promise<unknown> {
  const { rows } = await until("the database answers", async () => {
    const result = database.query(text);
    try {
      return await result;
    } catch {
      expect((await problem(result)).status).to.equal(503);
      return undefined;
    }
  });
  return rows;
}

/** Waits until the check is healthy; repeats a check that was too slow on a busy machine. */
function healthy(database: Database): Promise<true> {
  return until("the check is healthy", async () => (await ask(database)).healthy);
}

describe("a database with faults", function () {
  this.timeout(60_000);
  const postgres = testPostgresServer({ settings: { max_connections: "20" } });

  interface Warm extends AsyncDisposable {
    readonly database: Database;
    readonly logger: CollectingLogger;
  }

  /** Opens a database with idle connections and a connected readiness check; repeats if the machine was too slow. */
  function warm(connections: number, options: Partial<DatabaseOptions> = {}): Promise<Warm> {
    return until("it is connected", async () => {
      const logger = collectingLogger();
      const database = createDatabase({ url: postgres.url, logger, ...DEADLINES, ...options });
      const sleeps = Array.from({ length: connections }, () => database.query("select pg_sleep(0.02)"));
      const slept = await Promise.allSettled(sleeps);
      const all = slept.every(({ status }) => status === "fulfilled") && (await ask(database)).healthy;
      if (all && database.pool.totalCount === connections && logger.texts.length === 0)
        return { database, logger, [Symbol.asyncDispose]: () => database.stop() };
      await database.stop();
      return undefined;
    });
  }

  it("returns 503 in bounded time while the server hangs, rarely retries, and recovers without a restart", async () => {
    await using up = await warm(4, { max: 4, breakerCoolDownMs: 2000 });
    const { database, logger } = up;
    postgres.server.pause();
    try {
      // These queries use connections that were idle when the server began to hang.
      const first = await soon(
        Promise.all(Array.from({ length: 12 }, () => problem(database.query("select 1")))),
      );
      expect(first.map(({ status }) => status)).to.deep.equal(Array.from({ length: 12 }, () => 503));
      for (const { headers } of first) expect(Number(headers?.["Retry-After"])).to.be.at.least(1);
      const check = await soon(ask(database));
      expect(check).to.include({ healthy: false, detail: "no answer within 300 ms" });
      await soon(
        until("refused immediately", async () => {
          const { cause } = await problem(database.query("select 1"));
          return (cause as Error).name === "BreakerOpenError" ? true : undefined;
        }),
      );
      const many = await soon(
        Promise.all(Array.from({ length: 200 }, () => problem(database.query("select 1")))),
      );
      const detail = "the database is not answering; retry shortly";
      expect(new Set(many.map((each) => each.detail))).to.deep.equal(new Set([detail]));
      expect(many.filter(({ cause }) => (cause as Error).name === "BreakerOpenError").length).to.be.at.least(
        190,
      );
    } finally {
      postgres.server.resume();
    }
    await answer(database);
    await healthy(database);
    expect(
      logger.texts.filter((line) => line.startsWith("error the database is not answering")).length,
    ).to.be.at.least(1);
    expect(logger.texts.at(-1)).to.contain("answering again");
  });

  it("ignores a logger that throws when a connection breaks, a query fails or the database stops", async () => {
    const fail = (): never => {
      throw new Error("the disk is full");
    };
    const logger = { debug: fail, info: fail, warn: fail, error: fail, fatal: fail };
    const url = `postgres://somebody:secret@127.0.0.1:${CLOSED_PORT}/nothing`;
    const database = createDatabase({ url, logger, ...DEADLINES, breakerFailures: 1 });
    database.pool.emit("error", new Error("an idle connection broke"), new Client());
    expect(await problem(database.query("select 1"))).to.include({ status: 503 });
    expect((await ask(database)).healthy).to.equal(false);
    await database.stop();
  });

  it("does not reuse a connection whose statement exceeded its deadline", async () => {
    await using up = await warm(1, { max: 1 });
    const { database } = up;
    const pid = (): Promise<unknown> => answer(database, "select pg_backend_pid() as pid");
    const before = await pid();
    postgres.server.pause();
    const stuck = problem(database.query("select 'stale' as answer"));
    try {
      expect(await soon(stuck)).to.include({ status: 503, code: "ERR_SVC_DATABASE_TIMEOUT" });
    } finally {
      postgres.server.resume();
    }
    expect(await pid()).not.to.deep.equal(before);
  });

  it("rejects a transaction on a hung connection without waiting for its rollback", async () => {
    await using up = await warm(1, { max: 1 });
    const { database } = up;
    let hangs = false;
    const failed = (): Promise<ProblemError> =>
      problem(
        database.transaction(async (tx) => {
          await tx.query("select 1");
          hangs = true;
          postgres.server.pause();
          await tx.query("select 2");
        }),
      );
    try {
      // Repeat if a slow machine exceeded a deadline before the server was paused.
      const last = await until("the server hangs", async () => {
        const fault = await soon(failed());
        return hangs && fault;
      });
      expect(last).to.include({ status: 503, code: "ERR_SVC_DATABASE_TIMEOUT" });
    } finally {
      postgres.server.resume();
    }
    await answer(database);
  });

  it("stops at stopTimeoutMs while the server hangs, and cuts its connections", async () => {
    const { database, logger } = await warm(1);
    postgres.server.pause();
    try {
      await soon(database.stop());
      expect(logger.texts).to.have.lengthOf(1);
      expect(logger.texts[0]).to.contain("connections were cut").and.to.contain('"connections":2');
    } finally {
      postgres.server.resume();
    }
  });

  it("applies its deadlines and circuit breaker to data mappers that use the pool directly", async () => {
    await using database = createDatabase({
      url: postgres.url,
      max: 3,
      ...DEADLINES,
      breakerCoolDownMs: 60_000,
    });
    postgres.server.pause();
    try {
      for (const _ of [1, 2])
        expect(isConnectionError(await soon(rejection(database.pool.query("select 1"))))).to.equal(true);
      expect((await soon(rejection(database.pool.query("select 1")))).name).to.equal("BreakerOpenError");
      const { headers } = await soon(problem(database.query("select 1")));
      expect(Number(headers?.["Retry-After"])).to.be.within(2, 60);
    } finally {
      postgres.server.resume();
    }
  });

  it("keeps the time limit of data mappers that use a connection of the pool after it was lent", async () => {
    await using up = await warm(1, { max: 1 });
    const { database } = up;
    await answer(database);
    postgres.server.pause();
    try {
      const error = await soon(rejection(database.pool.query("select 1")));
      expect(error.message).to.equal("Query read timeout");
    } finally {
      postgres.server.resume();
    }
  });

  it("survives a server crash, and recovers when the server is back", async () => {
    const logger = collectingLogger();
    await using database = createDatabase({ url: postgres.url, max: 3, logger, ...PATIENT });
    await Promise.all(Array.from({ length: 3 }, () => database.query("select pg_sleep(0.02)")));
    const held = await database.connect();
    await held.query("begin");
    await postgres.server.kill();
    const lost = await soon(problem(held.query("select 1")));
    expect(lost).to.include({ status: 503, code: "ERR_SVC_DATABASE_UNAVAILABLE" });
    expect(isConnectionError(lost)).to.equal(true);
    held.release();
    expect((await soon(problem(database.query("select 1")))).status).to.equal(503);
    expect(await soon(ask(database))).to.include({ healthy: false, detail: "not answering (ECONNREFUSED)" });
    await postgres.server.restart();
    await answer(database);
    await Promise.all(Array.from({ length: 3 }, () => database.query("select pg_sleep(0.02)")));
    expect(database.pool.totalCount).to.equal(3);
    expect((await ask(database)).healthy).to.equal(true);
    expect(logger.texts.some((line) => line.startsWith("warn a database connection broke"))).to.equal(true);
  });

  it("opens new connections after the server has terminated the idle ones", async () => {
    await using database = createDatabase({
      url: postgres.url,
      max: 2,
      applicationName: "ended",
      ...PATIENT,
    });
    await Promise.all([database.query("select pg_sleep(0.02)"), database.query("select pg_sleep(0.02)")]);
    await ask(database);
    await using other = createDatabase({ url: postgres.url, ...PATIENT });
    const ended = await other.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'ended'",
    );
    expect(ended.rows).to.have.lengthOf(3);
    await until("the pool has noticed", async () => (database.pool.totalCount === 0 ? true : undefined));
    expect((await database.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
    expect((await ask(database)).healthy).to.equal(true);
  });

  it("returns 503 when slow handlers hold all connections, while readiness reports how many requests wait", async () => {
    // Set acquireTimeoutMs long enough for the check to count the waiting requests before they are rejected.
    await using database = createDatabase({ url: postgres.url, max: 2, ...PATIENT, acquireTimeoutMs: 3000 });
    const slow = [await database.connect(), await database.connect()];
    const waiting = Array.from({ length: 5 }, () => problem(database.query("select 1")));
    const check = await soon(ask(database));
    expect(check.healthy).to.equal(true);
    expect(check.detail).to.equal("connected; 5 waiting for a connection");
    expect(check.meta).to.deep.equal({ total: 2, idle: 0, waiting: 5, max: 2 });
    for (const each of await soon(Promise.all(waiting))) {
      expect(each).to.include({
        status: 503,
        code: "ERR_SVC_DATABASE_POOL_EXHAUSTED",
        detail: "all database connections are in use; retry shortly",
      });
      expect(each.headers).to.deep.equal({ "Retry-After": "1" });
    }
    for (const connection of slow) connection.release();
    expect((await database.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
  });

  it("reports that all connections are in use, even when a data mapper holds them", async () => {
    await using up = await warm(2, { max: 2 });
    const { database } = up;
    const held = [await database.pool.connect(), await database.connect()];
    expect(await soon(problem(database.query("select 1")))).to.include({
      code: "ERR_SVC_DATABASE_POOL_EXHAUSTED",
    });
    for (const connection of held) connection.release();
    expect(await answer(database)).to.deep.equal([{ one: 1 }]);
  });

  it("returns 503 when the server has no connection left, and keeps using its open connections", async () => {
    await using hog = createDatabase({ url: postgres.url, max: 30, ...PATIENT });
    await using database = createDatabase({ url: postgres.url, max: 5, ...PATIENT });
    const own = await database.connect();
    const taken = [];
    try {
      for (;;) taken.push(await hog.connect());
    } catch {
      expect(taken.length).to.be.at.least(10);
    }
    expect((await soon(problem(database.query("select 1")))).code).to.equal("ERR_SVC_DATABASE_UNAVAILABLE");
    expect(await soon(ask(database))).to.include({
      healthy: false,
      detail: "the server has no connection left",
    });
    expect((await own.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
    own.release();
    expect((await database.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
    for (const connection of taken) connection.release();
  });

  it("RDY-13 has a check that is critical and named database by default, and takes both settings from options", () => {
    const url = postgres.url;
    const check = createDatabase({ url }).readiness();
    expect({ name: check.name, critical: check.critical }).to.deep.equal({
      name: "database",
      critical: true,
    });
    const other = createDatabase({ url, name: "archive", critical: false }).readiness();
    expect({ name: other.name, critical: other.critical }).to.deep.equal({
      name: "archive",
      critical: false,
    });
  });

  it("returns 503 and an unhealthy check, without showing the login, when the database is missing at startup", async () => {
    await using database = createDatabase({
      host: "127.0.0.1",
      port: CLOSED_PORT,
      user: "app",
      password: "s3cret",
      database: "x",
      ...PATIENT,
    });
    const [missing, check] = [await soon(problem(database.query("select 1"))), await soon(ask(database))];
    expect(missing).to.include({ status: 503, detail: "the database is not answering; retry shortly" });
    expect(check).to.include({ healthy: false, detail: "not answering (ECONNREFUSED)" });
    expect(JSON.stringify(check)).to.not.match(/s3cret|app|127\.0\.0\.1/);
  });
});

describe("a database whose server dies during a handshake", () => {
  it("returns 503 and keeps the process running when the shutdown error arrives together with the handshake", async () => {
    await using server = await startEndingPostgres();
    await using database = createDatabase({
      host: "127.0.0.1",
      port: server.port,
      user: "app",
      database: "x",
      ...PATIENT,
    });
    expect((await soon(problem(database.query("select 1")))).status).to.equal(503);
    expect(await soon(ask(database))).to.include({ healthy: false });
  });
});

describe("a database with a wrong URL", function () {
  this.timeout(60_000);
  const postgres = testPostgresServer({ password: "right-one" });

  for (const [what, change, detail] of [
    ["password", (url: string) => url.replace("right-one", "s3cret"), "the password was refused"],
    ["database", (url: string) => url.replace(/postgres$/, "n0where"), "the database does not exist"],
  ] as const) {
    it(`reports an invalid ${what} without revealing it`, async () => {
      const url = change(postgres.url);
      expect(url).not.to.equal(postgres.url);
      await using database = createDatabase({ url, ...PATIENT });
      const failed = await soon(problem(database.query("select 1")));
      expect(failed).to.include({ status: 503, detail: "the database is not answering; retry shortly" });
      const check = await soon(ask(database));
      expect(check).to.include({ healthy: false, detail });
      expect(`${JSON.stringify(check)}${failed.detail}`).to.not.match(
        /s3cret|n0where|right-one|127\.0\.0\.1/,
      );
    });
  }
});
