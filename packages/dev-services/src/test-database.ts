import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Client } from "pg";
import { answersWithin, fromEnvironment } from "./environment.ts";
import { fixtureOf } from "./mocha-hooks.ts";
import { joinPostgres } from "./postgres.ts";
import { needsSharedPostgres } from "./test-postgres.ts";
import { testRunFolder } from "./test-run.ts";

/** The database of one test file. */
export interface TestDatabase {
  /** Connection string of an empty database for these tests alone. Available only inside of tests and hooks. */
  readonly url: string;
}

/** A database made by {@link openTestDatabase}. Disposing of it drops it. */
export interface OpenTestDatabase extends TestDatabase, AsyncDisposable {}

/** The options of {@link testDatabase} and {@link openTestDatabase}. */
export interface TestDatabaseOptions {
  /** Part of the database's name, for people who list the databases. Default: `test`. */
  readonly name?: string | undefined;
}

let shared: Promise<{ readonly url: string; stop(): Promise<void> }> | undefined;

/** Returns the URL of the server that all processes of this test run share; the first caller starts it. */
async function sharedPostgres(): Promise<string> {
  shared ??= joinPostgres({ purpose: "test" }, join(testRunFolder(), "postgres.json"));
  return (await shared).url;
}

/** Releases the shared server. It ends when all processes of the run have released it. */
export async function releaseSharedPostgres(): Promise<void> {
  const held = shared;
  shared = undefined;
  await (await held?.catch(() => undefined))?.stop();
}

/**
 * Makes a database on a real PostgreSQL: the one named by `SVC_TEST_DATABASE_URL`, else a server that all processes of a
 * test run share and that ends with them.
 *
 * @throws NoServerError when no PostgreSQL is installed; Error when the server of the variable does not answer
 */
export async function openTestDatabase({
  name = "test",
}: TestDatabaseOptions = {}): Promise<OpenTestDatabase> {
  const given = fromEnvironment("SVC_TEST_DATABASE_URL");
  const admin = given ?? (await sharedPostgres());
  if (given !== undefined) await answersWithin("SVC_TEST_DATABASE_URL", given);
  const label = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .slice(0, 40);
  const database = `t_${label}_${randomBytes(4).toString("hex")}`;
  await execute(admin, `create database ${database} template template0`);
  const url = new URL(admin);
  url.pathname = `/${database}`;
  return {
    url: url.href,
    [Symbol.asyncDispose]: () => execute(admin, `drop database if exists ${database} with (force)`),
  };
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 20_000 });
  client.on("error", () => undefined);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/**
 * Gives a `describe` a database of its own, created before its first test and dropped after its last. Without a
 * PostgreSQL the describe is skipped as by `testProgram()`.
 *
 * @example
 * describe("expenses", () => {
 *   const database = testDatabase();
 *   it("are kept", async () => { const pool = new Pool({ connectionString: database.url }); ... });
 * });
 */
export function testDatabase(options: TestDatabaseOptions = {}): TestDatabase {
  needsSharedPostgres();
  const database = fixtureOf({
    what: "the database",
    names: ["testDatabase()", "openTestDatabase()"],
    open: () => openTestDatabase(options),
    close: (each) => each[Symbol.asyncDispose](),
  });
  return {
    get url() {
      return database().url;
    },
  };
}
