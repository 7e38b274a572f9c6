import { createDatabase, type Database, type DatabaseOptions } from "@svc/database";
import { testPostgresServer } from "@svc/dev-services";
import type { Queryable } from "@svc/sql";
import { type CollectingLogger, collectingLogger, until } from "@svc/test-support";
import { expect } from "chai";
import { Pool, type PoolClient } from "pg";
import { PATIENT } from "./support/patient.ts";
import { problem } from "./support/problem.ts";

const { connectTimeoutMs: _, ...DEADLINES } = PATIENT;
const SHORT = { acquireTimeoutMs: 300, statementTimeoutMs: 300, breakerCoolDownMs: 60_000 } as const;
/** Longer than the time limit in `SHORT` and the half second in which the server may cancel the statement. */
const STALL_MS = 1000;

const pidOf = async (on: Queryable): Promise<unknown> =>
  (await on.query("select pg_backend_pid() as pid")).rows[0]?.["pid"];

/** Blocks this process. */
const stall = (): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS);

for (const [title, open] of [
  [
    "a connection of createDatabase({ url })",
    (url: string, max: number, options?: Partial<DatabaseOptions>) =>
      createDatabase({ url, max, ...PATIENT, ...options }),
  ],
  [
    "a connection of createDatabase({ pool })",
    (url: string, max: number, options?: Partial<DatabaseOptions>) =>
      createDatabase({
        pool: new Pool({ connectionString: url, max }),
        closePool: true,
        ...DEADLINES,
        ...options,
      }),
  ],
] as const) {
  describe(title, function () {
    this.timeout(60_000);
    const postgres = testPostgresServer();

    interface Warm extends AsyncDisposable {
      readonly database: Database;
      readonly logger: CollectingLogger;
      readonly pids: readonly unknown[];
    }

    /** Opens a database with short time limits and idle connections; repeats if the machine was too slow. */
    function warm(connections: number): Promise<Warm> {
      return until("it is connected", async () => {
        const logger = collectingLogger();
        const database = open(postgres.url, connections, { ...SHORT, logger });
        const text = "select pg_backend_pid() as pid, pg_sleep(0.05)";
        const all = await Promise.all(Array.from({ length: connections }, () => database.query(text))).catch(
          () => [],
        );
        const pids = all.map(({ rows }) => rows[0]?.["pid"]);
        if (new Set(pids).size === connections)
          return { database, logger, pids, [Symbol.asyncDispose]: () => database.stop() };
        await database.stop();
        return undefined;
      });
    }

    describe("that is released while a statement is unanswered", () => {
      it("is closed, so the statement begins no transaction for the next user", async () => {
        await using database = open(postgres.url, 1);
        await using other = open(postgres.url, 1);
        await database.query("create table kept (id int)");
        const before = await pidOf(database);
        const lent = await database.connect();
        const begun = problem(lent.query("begin"));
        lent.release();
        await database.query("insert into kept values (1)");
        expect((await other.query("select id from kept")).rows).to.deep.equal([{ id: 1 }]);
        expect(await pidOf(database)).not.to.equal(before);
        expect((await begun).code).to.equal("ERR_SVC_DATABASE_UNAVAILABLE");
      });

      it("gives the next user no tenant of a statement that was sent after the end of withTenant()", async () => {
        await using database = open(postgres.url, 1);
        let stray: Promise<unknown> | undefined;
        await database.withTenant("acme", (tx) => {
          // `commit` is sent before this runs, and answered afterwards.
          setImmediate(() => {
            stray = problem(tx.query("set svc.tenant = 'globex'"));
          });
        });
        await stray;
        const { rows } = await database.pool.query("select current_setting('svc.tenant', true) as tenant");
        expect(rows[0]?.tenant ?? "").to.equal("");
      });

      it("sends none of the statements that wait", async () => {
        await using database = open(postgres.url, 1);
        const lent = await database.connect();
        const all = Promise.allSettled([lent.query("select 1"), lent.query("create table never (id int)")]);
        lent.release();
        const [, waiting] = await all;
        expect(waiting).to.have.nested.property(
          "reason.message",
          "a connection was used after it was returned to the pool",
        );
        expect((await database.query("select to_regclass('never') as found")).rows).to.deep.equal([
          { found: null },
        ]);
      });
    });

    describe("on which several statements are started at once", () => {
      it("sends each after the answer to the one before, so that none uses up the time limit of another", async () => {
        await using database = open(postgres.url, 1);
        let unanswered = 0;
        let most = 0;
        database.pool.on("connect", (client: PoolClient) => {
          const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
          client.query = (async (...args: unknown[]) => {
            most = Math.max(most, ++unanswered);
            try {
              return await query(...args);
            } finally {
              unanswered -= 1;
            }
          }) as unknown as typeof client.query;
        });
        const order: number[] = [];
        await database.transaction((tx) =>
          Promise.all(
            [1, 2, 3, 4].map(async (each) => {
              if (each === 2) await tx.query("savepoint one; select 1 / 0").catch(() => undefined);
              else await tx.query(each === 3 ? "rollback to savepoint one" : "select 1");
              order.push(each);
            }),
          ),
        );
        expect(order).to.deep.equal([1, 2, 3, 4]);
        expect(most).to.equal(1);
      });

      it("rejects those that wait when one of them ends the connection", async () => {
        await using database = open(postgres.url, 1);
        const lent = await database.connect();
        const texts = ["select pg_terminate_backend(pg_backend_pid())", "select 1", "select 2"];
        const all = await Promise.all(texts.map((text) => problem(lent.query(text))));
        lent.release();
        expect(new Set(all).size).to.equal(1);
        expect(all[0]?.code).to.equal("ERR_SVC_DATABASE_UNAVAILABLE");
      });
    });

    it("counts one failure for a server that hangs, however many connections wait for it", async () => {
      await using up = await warm(3);
      const { database, logger } = up;
      postgres.server.pause();
      try {
        const all = await Promise.all([1, 2, 3].map(() => problem(database.query("select 1"))));
        expect(new Set(all.map(({ code }) => code))).to.deep.equal(new Set(["ERR_SVC_DATABASE_TIMEOUT"]));
      } finally {
        postgres.server.resume();
      }
      expect(logger.at("error")).to.deep.equal([]);
    });

    it("stays in use after a stall of this process that is longer than the time limit", async () => {
      await using up = await warm(3);
      const { database, pids } = up;
      const all = Promise.all(pids.map(() => pidOf(database)));
      // The statements are sent before this.
      await new Promise(setImmediate);
      stall();
      expect(new Set(await all)).to.deep.equal(new Set(pids));
      const again = await Promise.all(pids.map(() => pidOf(database)));
      expect(pids).to.include.members(again);
    });
  });
}
