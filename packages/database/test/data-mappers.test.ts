import { createDatabase, type Database, enableRowSecurity, mapperPool } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { type Queryable, sqlStateOf, withTransaction } from "@svc/sql";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { DrizzleQueryError, sql as drizzleSql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { Kysely, PostgresDialect, sql as kyselySql } from "kysely";
import { type Login, makeLogin } from "./support/login.ts";
import { PATIENT } from "./support/patient.ts";

interface Tables {
  readonly letters: { readonly tenant_id: string; readonly number: number };
}

const letters = pgTable("letters", { tenant_id: text().notNull(), number: integer().notNull() });

/** The same operations with each data mapper. */
interface Mapper {
  insert(tenant: string, number: number): Promise<unknown>;
  numbers(): Promise<number[]>;
  transaction(work: (mapper: Mapper) => Promise<void>): Promise<void>;
  serializable(): Promise<unknown>;
  run(statement: string): Promise<unknown>;
}

function kyselyOn(on: Database | Queryable): Mapper {
  const operations = (db: Kysely<Tables>): Mapper => ({
    insert: (tenant_id, number) => db.insertInto("letters").values({ tenant_id, number }).execute(),
    async numbers() {
      const rows = await db.selectFrom("letters").select("number").orderBy("number").execute();
      return rows.map((row) => row.number);
    },
    transaction: (work) => db.transaction().execute((tx) => work(operations(tx))),
    serializable: () =>
      db
        .transaction()
        .setIsolationLevel("serializable")
        .execute(async () => undefined),
    run: (statement) => kyselySql.raw(statement).execute(db),
  });
  return operations(new Kysely<Tables>({ dialect: new PostgresDialect({ pool: mapperPool(on) }) }));
}

function drizzleOn(on: Database | Queryable): Mapper {
  type Drizzle = Pick<ReturnType<typeof drizzle>, "insert" | "select" | "transaction" | "execute">;
  const operations = (db: Drizzle): Mapper => ({
    insert: (tenant_id, number) => db.insert(letters).values({ tenant_id, number }),
    async numbers() {
      const rows = await db.select({ number: letters.number }).from(letters).orderBy(letters.number);
      return rows.map((row) => row.number);
    },
    transaction: (work) => db.transaction((tx) => work(operations(tx))),
    serializable: () => db.transaction(async () => undefined, { isolationLevel: "serializable" }),
    run: (statement) => db.execute(drizzleSql.raw(statement)),
  });
  return operations(drizzle({ client: mapperPool(on) }));
}

/** Returns the error of the database; Drizzle wraps errors of statements. */
function problemIn(error: Error): unknown {
  return error instanceof DrizzleQueryError ? error.cause : error;
}

function textOf(error: Error): string {
  return (problemIn(error) as Error).message;
}

for (const [name, mapperOn] of [
  ["Kysely", kyselyOn],
  ["Drizzle", drizzleOn],
] as const) {
  describe(`mapperPool() with ${name}`, function () {
    this.timeout(60_000);
    const postgres = testDatabase({ name: "mappers" });
    describe("on a database and in its transactions", () => {
      let login: Login;
      let database: Database;
      before(async () => {
        login = await makeLogin(postgres.url);
        database = createDatabase({ url: login.url, ...PATIENT, max: 2 });
        await database.query("create table letters (tenant_id text not null, number int not null)");
        await enableRowSecurity(database, { table: "letters" });
        await database.query("create table plain (number int not null)");
      });
      after(async () => {
        await database.stop();
        await login.drop();
      });

      it("runs statements with parameters in the tenant's transaction, which sees only its own rows", async () => {
        for (const [tenant, number] of [
          ["acme", 1],
          ["globex", 2],
        ] as const) {
          await database.withTenant(tenant, (tx) => mapperOn(tx).insert(tenant, number));
        }
        expect(await database.withTenant("acme", (tx) => mapperOn(tx).numbers())).to.deep.equal([1]);
        expect(await mapperOn(database).numbers()).to.deep.equal([]);
        const foreign = await rejection(
          database.withTenant("acme", (tx) => mapperOn(tx).insert("globex", 3)),
        );
        expect(sqlStateOf(foreign)).to.equal("42501");
      });

      it("turns the mapper's transactions into savepoints of the tenant's transaction", async () => {
        const seen = await database.withTenant("initech", async (tx) => {
          const mapper = mapperOn(tx);
          await mapper.insert("initech", 1);
          await mapper.transaction((inner) => inner.insert("initech", 2) as Promise<void>);
          const failed = await rejection(
            mapper.transaction(async (inner) => {
              await inner.insert("initech", 3);
              throw new Error("no");
            }),
          );
          expect(failed.message).to.equal("no");
          await mapper.transaction((inner) => inner.insert("initech", 4) as Promise<void>);
          return mapper.numbers();
        });
        expect(seen).to.deep.equal([1, 2, 4]);
        expect(await database.withTenant("initech", (tx) => mapperOn(tx).numbers())).to.deep.equal([1, 2, 4]);
      });

      it("rolls the mapper's transactions back with the transaction around them", async () => {
        const failed = await rejection(
          database.withTenant("umbrella", async (tx) => {
            await mapperOn(tx).transaction((inner) => inner.insert("umbrella", 1) as Promise<void>);
            throw new Error("no");
          }),
        );
        expect(failed.message).to.equal("no");
        expect(await database.withTenant("umbrella", (tx) => mapperOn(tx).numbers())).to.deep.equal([]);
      });

      it("rejects calls that would end or change the surrounding transaction, which continues", async () => {
        const seen = await database.withTenant("hooli", async (tx) => {
          const mapper = mapperOn(tx);
          await mapper.insert("hooli", 1);
          for (const statement of ["commit", "rollback", " COMMIT WORK;", "end", "abort"]) {
            const error = await rejection(mapper.run(statement));
            expect(textOf(error)).to.match(/must not end the transaction|needs a connection of its own/);
          }
          const options = await rejection(mapper.serializable());
          expect(textOf(options)).to.contain("options of a transaction cannot change");
          const overlapping = await rejection(
            mapper.transaction((_inner) => mapper.transaction(async () => undefined)),
          );
          expect(textOf(overlapping)).to.contain("overlap in one transaction");
          return mapper.numbers();
        });
        expect(seen).to.deep.equal([1]);
      });

      it("runs the mapper's own transactions on one connection of the database, and returns it", async () => {
        const mapper = mapperOn(database);
        await mapper.transaction(async (inner) => {
          await inner.run("insert into plain values (1)");
        });
        const failed = await rejection(
          mapper.transaction(async (inner) => {
            await inner.run("insert into plain values (2)");
            throw new Error("no");
          }),
        );
        expect(failed.message).to.equal("no");
        expect((await database.query("select number from plain")).rows).to.deep.equal([{ number: 1 }]);
        expect(database.pool).to.include({ totalCount: 1, idleCount: 1 });
      });

      it("runs the mapper's statements in a transaction of @svc/sql on the same connection", async () => {
        await withTransaction(database, async (tx) => {
          await mapperOn(tx).run("create temporary table given (number int) on commit drop");
          await mapperOn(tx).run("insert into given values (1)");
          expect((await tx.query("select number from given")).rows).to.deep.equal([{ number: 1 }]);
        });
      });

      it("throws the database's 503 problem for a slow statement, and a TenantError for one that sets the tenant", async () => {
        await using hurried = createDatabase({ url: login.url, ...PATIENT, statementTimeoutMs: 100 });
        const late = problemIn(await rejection(mapperOn(hurried).run("select pg_sleep(60)")));
        expect(late).to.include({ status: 503, code: "ERR_SVC_DATABASE_TIMEOUT" });
        const set = await rejection(mapperOn(database).run("set svc.tenant = 'acme'"));
        expect(problemIn(set)).to.include({ code: "ERR_SVC_DATABASE_TENANT" });
      });

      it("throws the database's 503 problem while the database is down", async () => {
        await using down = createDatabase({ url: "postgres://app@127.0.0.1:1/x", ...PATIENT });
        const mapper = mapperOn(down);
        for (const run of [() => mapper.numbers(), () => mapper.transaction(async () => undefined)]) {
          expect(problemIn(await rejection(run()))).to.include({ code: "ERR_SVC_DATABASE_UNAVAILABLE" });
        }
      });
    });
  });
}

describe("mapperPool()", function () {
  this.timeout(60_000);
  const postgres = testDatabase({ name: "mapper-pool" });

  it("rejects cursors and streams, and leaves the database open on end()", async () => {
    await using database = createDatabase({ url: postgres.url, ...PATIENT, max: 2 });
    const cursor = { submit: () => undefined };
    const pool = mapperPool(database);
    for (const on of [pool, await pool.connect()]) {
      const error = await rejection(on.query(cursor as never) as unknown as Promise<unknown>);
      expect(error.message).to.contain("sends no cursors and streams");
      if ("release" in on) on.release();
    }
    await pool.end();
    expect((await pool.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
  });

  it("rejects begin, commit and rollback in query(), and has a class name by which Drizzle recognizes a pool", async () => {
    await using database = createDatabase({ url: postgres.url, ...PATIENT, max: 1 });
    for (const pool of [mapperPool(database), await database.transaction((tx) => mapperPool(tx))]) {
      for (const statement of ["begin", "START TRANSACTION read only", { text: "commit" }, "rollback;"]) {
        const error = await rejection(pool.query(statement as string));
        expect(error).to.include({ code: "ERR_SVC_TRANSACTION" });
        expect(error.message).to.contain("needs a connection of its own");
      }
      expect((Object.getPrototypeOf(pool) as object).constructor.name).to.equal("MapperPool");
    }
  });

  it("rejects a statement after the end of the transaction that it was created for", async () => {
    await using database = createDatabase({ url: postgres.url, ...PATIENT, max: 1 });
    const pool = await database.transaction((tx) => mapperPool(tx));
    const error = await rejection(pool.query("select 1"));
    expect(error.message).to.contain("after it was returned to the pool");
  });
});
