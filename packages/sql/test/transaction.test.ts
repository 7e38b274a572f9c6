import { testDatabase } from "@svc/dev-services";
import {
  isConnectionError,
  OptionError,
  type Queryable,
  sqlStateOf,
  TransactionError,
  withTransaction,
} from "@svc/sql";
import { expect } from "chai";
import type pg from "pg";
import { connections } from "./support/connections.ts";
import { failure } from "./support/failure.ts";

const boom = new Error("boom");

describe("withTransaction", () => {
  const database = testDatabase({ name: "transaction" });
  const { client, pool: newPool, end } = connections(() => database.url);
  let pool: pg.Pool;
  before(async () => {
    pool = newPool({ max: 4 });
    await pool.query("create table notes (id serial primary key, text text unique)");
  });
  beforeEach(() => pool.query("truncate notes"));
  after(end);

  const insert = (db: Queryable, text: string): Promise<unknown> =>
    db.query("insert into notes (text) values ($1)", [text]);
  const texts = async (): Promise<unknown[]> =>
    (await pool.query<{ text: string }>("select text from notes order by text")).rows.map((row) => row.text);
  const throwing = async (db: Queryable, text: string): Promise<never> => {
    await insert(db, text);
    throw boom;
  };

  describe("on a pool", () => {
    it("commits the work and returns its result", async () => {
      const result = await withTransaction(pool, async (tx) => {
        await insert(tx, "a");
        expect(await texts(), "seen from outside before the commit").to.deep.equal([]);
        return "done";
      });
      expect(result).to.equal("done");
      expect(await texts()).to.deep.equal(["a"]);
    });

    it("rolls back and rethrows what the function throws", async () => {
      expect(await failure(withTransaction(pool, (tx) => throwing(tx, "a")))).to.equal(boom);
      expect(await texts()).to.deep.equal([]);
    });

    it("releases every connection, usable and without additional listeners", async () => {
      const one = newPool({ max: 1 });
      for (let i = 0; i < 15; i++) {
        await withTransaction(one, (tx) => tx.query("select 1"));
        await failure(withTransaction(one, (tx) => tx.query("select 1/0")));
      }
      expect(one.totalCount).to.equal(1);
      expect(one.idleCount).to.equal(1);
      const lent = await one.connect();
      expect(lent.listenerCount("error")).to.be.lessThan(2);
      expect(lent.getTransactionStatus()).to.equal("I");
      lent.release();
    });

    it("closes a connection that broke during the function, without ending the process", async () => {
      const one = newPool({ max: 1 });
      const error = await failure(
        withTransaction(one, async (tx) => {
          const { rows } = await tx.query<{ pid: number }>("select pg_backend_pid() as pid");
          await pool.query("select pg_terminate_backend($1)", [rows[0]?.pid]);
          // The connection is idle inside the transaction, so its error is emitted as an event and rejects no query.
          const alive = "select from pg_stat_activity where pid = $1";
          while ((await pool.query(alive, [rows[0]?.pid])).rowCount !== 0);
          await tx.query("select 1");
        }),
      );
      expect(isConnectionError(error)).to.equal(true);
      expect(one.totalCount).to.equal(0);
      expect((await one.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
    });

    it("closes a connection when its rollback fails", async () => {
      const released: unknown[] = [];
      const broken = new Error("rollback failed");
      const fake = {
        connect: () =>
          Promise.resolve({
            query: (text: string) =>
              text === "rollback" ? Promise.reject(broken) : Promise.resolve({ rows: [] }),
            release: (error?: unknown) => void released.push(error),
          }),
      };
      const error = await failure(withTransaction(fake, () => Promise.reject(boom)));
      expect(error).to.equal(boom);
      expect(released).to.deep.equal([broken]);
    });

    it("does not queue a rollback behind a statement that timed out", async () => {
      const one = newPool({ max: 1, query_timeout: 100 });
      const error = await failure(withTransaction(one, (tx) => tx.query("select pg_sleep(30)")));
      expect(error.message).to.equal("Query read timeout");
      expect(one.totalCount).to.equal(0);
    });

    it("closes a connection when its begin fails", async () => {
      const released: unknown[] = [];
      const fake = {
        connect: () =>
          Promise.resolve({
            query: () => Promise.reject(boom),
            release: (error?: unknown) => void released.push(error),
          }),
      };
      expect(await failure(withTransaction(fake, () => "never"))).to.equal(boom);
      expect(released).to.deep.equal([boom]);
    });

    it("rejects when connect() returns something other than a connection", async () => {
      const fake = { connect: () => Promise.resolve(undefined as never) };
      expect((await failure(withTransaction(fake, () => 1))).message).to.equal(
        "connect() must return a connection with query() and release()",
      );
    });

    it("rejects when the function swallowed a failed statement, so that nothing was committed", async () => {
      const error = await failure(
        withTransaction(pool, async (tx) => {
          await insert(tx, "a");
          await tx.query("select 1/0").catch(() => undefined);
        }),
      );
      expect(error).to.be.instanceOf(TransactionError);
      expect(error).to.have.property("code", "ERR_SVC_TRANSACTION");
      expect(error.message).to.equal(
        "the transaction was rolled back: a statement failed, and its error was not rethrown",
      );
      expect(await texts()).to.deep.equal([]);
    });

    it("rejects with the server's error when a commit fails", async () => {
      await pool.query("create table late (id int unique deferrable initially deferred)");
      const error = await failure(
        withTransaction(pool, (tx) => tx.query("insert into late values (1), (1)")),
      );
      expect(sqlStateOf(error)).to.equal("23505");
      expect((await pool.query("select * from late")).rows).to.deep.equal([]);
    });
  });

  describe("with options", () => {
    it("uses the isolation level, and rejects writes when read-only", async () => {
      const seen = await withTransaction(
        pool,
        (tx) => tx.query("select current_setting('transaction_isolation') as level"),
        { isolation: "serializable" },
      );
      expect(seen.rows).to.deep.equal([{ level: "serializable" }]);
      const error = await failure(withTransaction(pool, (tx) => insert(tx, "a"), { readOnly: true }));
      expect(sqlStateOf(error)).to.equal("25006");
      const both = { isolation: "repeatable read", readOnly: true } as const;
      await withTransaction(pool, (tx) => tx.query("select 1"), both);
    });

    it("runs the function again after a serialization failure, up to the number of retries", async () => {
      let runs = 0;
      const work = async (tx: Queryable): Promise<void> => {
        runs += 1;
        await tx.query("select count(*) from notes");
        if (runs === 1) {
          await withTransaction(pool, (other) => bump(other, "other"), { isolation: "serializable" });
        }
        await insert(tx, "mine");
      };
      const bump = async (tx: Queryable, text: string): Promise<void> => {
        await tx.query("select count(*) from notes");
        await insert(tx, text);
      };
      await withTransaction(pool, work, { isolation: "serializable", retries: 3 });
      expect(runs).to.equal(2);
      expect(await texts()).to.deep.equal(["mine", "other"]);
    });

    it("fails after the last retry, and does not retry by default or for other errors", async () => {
      const runsOf = async (state: string, retries?: number): Promise<number> => {
        let runs = 0;
        const raise = async (tx: Queryable): Promise<void> => {
          runs += 1;
          await tx.query(`do $$ begin raise exception 'no' using errcode = '${state}'; end $$`);
        };
        const error = await failure(withTransaction(pool, raise, { retries }));
        expect(sqlStateOf(error)).to.equal(state);
        return runs;
      };
      expect(await runsOf("40001", 2)).to.equal(3);
      expect(await runsOf("40P01", 1)).to.equal(2);
      expect(await runsOf("40001")).to.equal(1);
      expect(await runsOf("23505", 5)).to.equal(1);
    });

    it("rejects invalid options", async () => {
      const wrong = (options: object): Promise<Error> =>
        failure(withTransaction(pool, () => undefined, options as never));
      const error = await wrong({ isolation: "chaos; drop table notes" });
      expect(error).to.be.instanceOf(OptionError);
      expect(error).to.have.property("code", "ERR_SVC_CONFIGURATION");
      expect(error.message).to.contain(
        "isolation must be one of read committed, repeatable read, serializable",
      );
      expect((await wrong({ readOnly: "yes" })).message).to.contain("readOnly must be true or false");
      expect((await wrong({ retries: -1 })).message).to.contain(
        "retries must be a whole number of at least 0",
      );
      expect((await wrong({ readonly: true })).message).to.contain("readonly is unknown");
    });
  });

  describe("on a connection", () => {
    it("begins and ends its own transaction if none is open", async () => {
      const db = await client();
      await withTransaction(db, (tx) => insert(tx, "a"));
      await failure(withTransaction(db, (tx) => throwing(tx, "b")));
      expect(await texts()).to.deep.equal(["a"]);
      expect(db.getTransactionStatus()).to.equal("I");
    });

    it("uses the caller's pool connection, and does not release it", async () => {
      const lent = await pool.connect();
      await withTransaction(lent, (tx) => insert(tx, "a"));
      expect((await lent.query("select 1 as one")).rows).to.have.lengthOf(1);
      lent.release();
      expect(await texts()).to.deep.equal(["a"]);
    });

    it("makes a savepoint inside a transaction that the caller began", async () => {
      const db = await client();
      await db.query("begin");
      await withTransaction(db, (tx) => insert(tx, "kept"));
      await failure(withTransaction(db, (tx) => throwing(tx, "undone")));
      expect(await texts(), "committed by itself").to.deep.equal([]);
      await db.query("commit");
      expect(await texts()).to.deep.equal(["kept"]);
    });

    it("nests to any depth, and rolls back each level separately", async () => {
      await withTransaction(pool, async (tx) => {
        await insert(tx, "1");
        await withTransaction(tx, async (inner) => {
          await insert(inner, "2");
          await failure(withTransaction(inner, (innermost) => throwing(innermost, "3")));
          await failure(withTransaction(inner, (innermost) => insert(innermost, "2")));
          await insert(inner, "4");
        });
        await failure(
          withTransaction(tx, async (inner) => {
            await withTransaction(inner, (innermost) => insert(innermost, "5"));
            throw boom;
          }),
        );
      });
      expect(await texts()).to.deep.equal(["1", "2", "4"]);
    });

    it("does not roll back the enclosing transaction when a savepoint cannot be created", async () => {
      await withTransaction(pool, async (tx) => {
        await insert(tx, "outer");
        const error = await failure(
          withTransaction(tx, async (inner) => {
            await insert(inner, "inner");
            await inner.query("select 1/0").catch(() => undefined);
            expect(sqlStateOf(await failure(withTransaction(inner, () => 1)))).to.equal("25P02");
            expect(sqlStateOf(await failure(inner.query("select 1"))), "was undone").to.equal("25P02");
          }),
        );
        expect(sqlStateOf(error)).to.equal("25P02");
      });
      expect(await texts()).to.deep.equal(["outer"]);
    });

    it("rejects isolation and readOnly when a transaction is open", async () => {
      await withTransaction(pool, async (tx) => {
        for (const options of [{ isolation: "serializable" as const }, { readOnly: true }]) {
          const error = await failure(withTransaction(tx, () => 1, options));
          expect(error).to.be.instanceOf(TransactionError);
          expect(error.message).to.contain("apply to a whole transaction");
        }
      });
    });

    it("does not retry inside a transaction", async () => {
      let runs = 0;
      await withTransaction(pool, async (tx) => {
        const again = async (inner: Queryable): Promise<void> => {
          runs += 1;
          await inner.query("do $$ begin raise exception 'no' using errcode = '40001'; end $$");
        };
        await failure(withTransaction(tx, again, { retries: 5 }));
      });
      expect(runs).to.equal(1);
    });

    it("asks the server when the driver does not report whether a transaction is open", async () => {
      const db = await client();
      const plain: Queryable = { query: (text, values) => db.query(text, values) };
      await withTransaction(plain, async (tx) => {
        await insert(tx, "a");
        await failure(withTransaction(tx, (inner) => throwing(inner, "b")));
      });
      expect(await texts()).to.deep.equal(["a"]);
      await db.query("begin");
      await withTransaction(plain, (tx) => insert(tx, "c"));
      await db.query("rollback");
      expect(await texts()).to.deep.equal(["a"]);
    });

    for (const ending of ["returns", "throws"] as const) {
      it(`commits neither of two overlapping transactions when the first function ${ending}`, async () => {
        const db = await client();
        let release!: () => void;
        const firstEnded = new Promise<void>((resolve) => (release = resolve));
        const first = withTransaction(db, async (tx) => {
          await insert(tx, "first");
          if (ending === "throws") throw boom;
        }).finally(release);
        const second = withTransaction(db, async (tx) => {
          await insert(tx, "second");
          await firstEnded;
          // This insert would commit on its own if the end of the first function had ended the transaction.
          await insert(tx, "later");
        });
        const [one, two] = await Promise.all([failure(first), failure(second)]);
        if (ending === "throws") expect(one).to.equal(boom);
        else expect(one).to.be.instanceOf(TransactionError);
        expect(two).to.be.instanceOf(TransactionError);
        expect(two.message).to.contain("overlap on one connection");
        expect(await texts()).to.deep.equal([]);
        await withTransaction(db, (tx) => insert(tx, "after"));
        expect(await texts()).to.deep.equal(["after"]);
      });
    }

    it("does not commit the transaction around two overlapping savepoints, even if their errors are swallowed", async () => {
      const error = await failure(
        withTransaction(pool, async (tx) => {
          await Promise.allSettled([
            withTransaction(tx, (inner) => insert(inner, "short")),
            withTransaction(tx, async (inner) => {
              await insert(inner, "long");
              for (let i = 0; i < 5; i++) await inner.query("select 1");
            }),
          ]);
        }),
      );
      expect(error).to.be.instanceOf(TransactionError);
      expect(await texts()).to.deep.equal([]);
      await withTransaction(pool, (tx) => insert(tx, "after"));
      expect(await texts()).to.deep.equal(["after"]);
    });
  });
});
