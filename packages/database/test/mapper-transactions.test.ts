import { createDatabase, type Database, mapperPool } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { type Queryable, withMethods, withTransaction } from "@svc/sql";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { PATIENT } from "./support/patient.ts";

interface Tables {
  readonly notes: { readonly text: string };
}

function kyselyOn(on: Database | Queryable): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: mapperPool(on) }) });
}

async function insert(mapper: Kysely<Tables>, text: string): Promise<void> {
  await mapper.insertInto("notes").values({ text }).execute();
}

/** Returns a promise and the function that resolves it. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

const OVERLAP = { code: "ERR_SVC_TRANSACTION" };

describe("mapperPool() in a transaction", function () {
  this.timeout(60_000);
  const postgres = testDatabase({ name: "mapper-transactions" });
  let database: Database;
  before(async () => {
    database = createDatabase({ url: postgres.url, ...PATIENT, max: 1 });
    await database.query("create table notes (text text not null)");
  });
  beforeEach(() => database.query("truncate notes"));
  after(() => database.stop());

  const texts = async (): Promise<unknown[]> =>
    (await database.query<{ text: string }>("select text from notes order by text")).rows.map(
      (row) => row.text,
    );

  it("rejects a second mapper's transaction while one is open, and commits the first", async () => {
    await database.transaction(async (tx) => {
      const second = await kyselyOn(tx)
        .transaction()
        .execute(async (first) => {
          await insert(first, "first");
          const overlapping = kyselyOn(tx)
            .transaction()
            .execute((other) => insert(other, "second"));
          return rejection(overlapping);
        });
      expect(second).to.include(OVERLAP);
      await kyselyOn(tx)
        .transaction()
        .execute((mapper) => insert(mapper, "third"));
    });
    expect(await texts()).to.deep.equal(["first", "third"]);
  });

  it("rejects a mapper's transaction that begins while a withTransaction() is open, and commits the latter", async () => {
    await database.transaction(async (tx) => {
      const [begun, ended] = [gate(), gate()];
      const work = withTransaction(tx, async (inner) => {
        await insert(kyselyOn(inner), "kept");
        begun.open();
        await ended.opened;
      });
      await begun.opened;
      const beside = kyselyOn(tx)
        .transaction()
        .execute((mapper) => insert(mapper, "lost"));
      expect(await rejection(beside)).to.include(OVERLAP);
      ended.open();
      await work;
    });
    expect(await texts()).to.deep.equal(["kept"]);
  });

  it("rejects a mapper's transaction that begins at the same time as a withTransaction()", async () => {
    await database.transaction(async (tx) => {
      const ended = gate();
      const work = withTransaction(tx, () => ended.opened);
      const beside = kyselyOn(tx)
        .transaction()
        .execute((mapper) => insert(mapper, "lost"));
      expect(await rejection(beside)).to.include(OVERLAP);
      ended.open();
      await work;
    });
    expect(await texts()).to.deep.equal([]);
  });

  for (const ending of ["returns", "throws"] as const) {
    it(`commits nothing when a mapper's work ${ending} while a withTransaction() inside it is still open`, async () => {
      const whole = database.transaction(async (tx) => {
        const [begun, ended] = [gate(), gate()];
        let inner: Promise<unknown> | undefined;
        const mapper = kyselyOn(tx)
          .transaction()
          .execute(async (outer) => {
            await insert(outer, "outer");
            inner = withTransaction(tx, async () => {
              begun.open();
              await ended.opened;
            });
            await begun.opened;
            if (ending === "throws") throw new Error("no");
          });
        expect(await rejection(mapper)).to.include(OVERLAP);
        ended.open();
        expect(await rejection(inner ?? Promise.resolve())).to.include(OVERLAP);
      });
      expect(await rejection(whole)).to.include(OVERLAP);
      expect(await texts()).to.deep.equal([]);
    });
  }

  it("nests a withTransaction() in a mapper's transaction, and a mapper's transaction in a withTransaction()", async () => {
    await database.transaction(async (tx) => {
      const mapper = kyselyOn(tx);
      await mapper.transaction().execute(() => withTransaction(tx, (inner) => insert(kyselyOn(inner), "a")));
      await withTransaction(tx, () => mapper.transaction().execute((inner) => insert(inner, "b")));
    });
    expect(await texts()).to.deep.equal(["a", "b"]);
  });

  it("rejects a transaction that ends while a mapper's transaction inside it is still open", async () => {
    const whole = database.transaction(async (tx) => {
      const open = await kyselyOn(tx).startTransaction().execute();
      await insert(open, "open");
    });
    expect(await rejection(whole)).to.include(OVERLAP);
    expect(await texts()).to.deep.equal([]);
  });

  it("rolls back a transaction on the caller's own connection in which a mapper's transaction is still open", async () => {
    const own = new pg.Client(postgres.url);
    await own.connect();
    let client!: { query(text: string): Promise<unknown>; release(): void };
    const whole = withTransaction(own, async (tx) => {
      client = await mapperPool(tx).connect();
      await client.query("begin");
      await client.query("insert into notes values ('open')");
      client.release();
      expect(
        await rejection(
          mapperPool(tx)
            .connect()
            .then((other) => other.query("begin")),
        ),
      ).to.include(OVERLAP);
    });
    expect(await rejection(whole)).to.include(OVERLAP);
    expect(await rejection(client.query("insert into notes values ('late')"))).to.include(OVERLAP);
    await withTransaction(own, (tx) =>
      kyselyOn(tx)
        .transaction()
        .execute((mapper) => insert(mapper, "next")),
    );
    await own.end();
    expect(await texts()).to.deep.equal(["next"]);
  });

  it("accepts a mapper's transaction in the caller's own transaction after another one was released while open", async () => {
    const own = new pg.Client(postgres.url);
    await own.connect();
    await own.query("begin");
    const abandoned = await mapperPool(own).connect();
    await abandoned.query("begin");
    abandoned.release();
    await kyselyOn(own)
      .transaction()
      .execute((mapper) => insert(mapper, "kept"));
    await own.query("commit");
    await own.end();
    expect(await texts()).to.deep.equal(["kept"]);
  });

  it("rejects statements that would end the transaction, even with comments, and continues in it", async () => {
    await database.transaction(async (tx) => {
      const pool = mapperPool(tx);
      const client = await pool.connect();
      await client.query("insert into notes values ('a')");
      for (const statement of [
        "/* c */ commit",
        "-- x\ncommit",
        "commit -- x",
        "commit;;",
        "; rollback",
        "commit and chain",
        "rollback work and no chain;",
        "/* c */ end /* d */ transaction",
      ]) {
        const error = await rejection(client.query(statement));
        expect(error.message, statement).to.contain("must not end the transaction");
        const alone = await rejection(pool.query(statement));
        expect(alone.message, statement).to.contain("needs a connection of its own");
      }
      client.release();
    });
    expect(await texts()).to.deep.equal(["a"]);
  });

  it("accepts begin, commit and rollback of a mapper's transaction with comments", async () => {
    await database.transaction(async (tx) => {
      const client = await mapperPool(tx).connect();
      await client.query("/* c */ begin;;");
      await client.query("insert into notes values ('a') /* commit */");
      await client.query("rollback -- x");
      await client.query("begin");
      await client.query("insert into notes values ('b -- c')");
      await client.query("commit and no chain");
      client.release();
    });
    expect(await texts()).to.deep.equal(["b -- c"]);
  });

  for (const statement of [
    "select 1; commit",
    "commit; begin",
    "rollback; begin",
    "/* a /* b */ c */ commit",
    "commit; set session work_mem = '1MB'",
  ]) {
    it(`rejects the transaction and closes its connection when a statement has ended it: ${statement}`, async () => {
      let second: unknown;
      const whole = database.transaction(async (tx) => {
        const client = await mapperPool(tx).connect();
        second = await rejection(client.query(statement));
        client.release();
      });
      const error = await rejection(whole);
      expect(error).to.equal(second).and.to.include(OVERLAP);
      expect(error.message).to.contain("a statement of a data mapper ended the transaction");
      expect(database.pool.totalCount).to.equal(0);
    });
  }

  for (const isLate of [false, true]) {
    const when = isLate ? "even before the driver knows the status" : "once the driver knows the status";
    it(`sends no further statement after a failed statement has ended the transaction, ${when}`, async () => {
      const whole = database.transaction(async (tx) => {
        let status: string | undefined = isLate ? "T" : undefined;
        const query = async (text: string, values: unknown[]): Promise<unknown> => {
          const answer = await tx.query(text, values);
          status = undefined;
          return answer;
        };
        const real = tx as unknown as { getTransactionStatus(): string };
        const getTransactionStatus = (): string => status ?? real.getTransactionStatus();
        const client = await mapperPool(withMethods(tx, { query, getTransactionStatus })).connect();
        const failed = await rejection(client.query("commit; select 1/0"));
        expect(failed.message).to.contain("division by zero");
        await client.query("insert into notes values ('outside')");
      });
      expect((await rejection(whole)).message).to.contain("ended the transaction");
      expect(await texts()).to.deep.equal([]);
    });
  }

  it("continues after a statement that failed and was rolled back", async () => {
    await database.transaction(async (tx) => {
      const client = await mapperPool(tx).connect();
      await client.query("begin");
      await rejection(client.query("select 1/0"));
      await client.query("rollback");
      await client.query("insert into notes values ('kept')");
      client.release();
    });
    expect(await texts()).to.deep.equal(["kept"]);
  });

  it("rejects the statement with which Kysely cancels another, because there is no second connection", async () => {
    await database.transaction(async (tx) => {
      const client = await mapperPool(tx).connect();
      for (const name of ["pg_cancel_backend", "pg_terminate_backend"]) {
        const error = await rejection(client.query(`select ${name}(123)`));
        expect(error.message).to.contain("cannot cancel its statements");
      }
      client.release();
    });
  });

  it("rejects anything other than a database and a connection in a transaction", async () => {
    const client = new pg.Client(postgres.url);
    await client.connect();
    for (const on of [undefined, null, {}, "x", postgres.url, client]) {
      expect(() => mapperPool(on as never))
        .to.throw("on: must be a database, or the tx of withTenant() or transaction()")
        .with.property("code", "ERR_SVC_CONFIGURATION");
    }
    await client.end();
  });
});
