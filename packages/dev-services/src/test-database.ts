import { randomBytes } from "node:crypto";
import { answersWithin, fromEnvironment, withClient } from "./environment.ts";
import { fixtureOf } from "./mocha.ts";
import { joinPostgres } from "./postgres.ts";
import { sharedServer } from "./shared-servers.ts";
import { needsSharedPostgres } from "./test-postgres.ts";

/** The database for one `describe`. */
export interface TestDatabase {
  /**
   * Connection string for an empty database that only the tests of the `describe` use. Available only in tests and
   * hooks.
   */
  readonly url: string;
}

/** A database created by {@link openTestDatabase}. Disposing drops it. */
export interface OpenTestDatabase extends TestDatabase, AsyncDisposable {}

/** The options of {@link testDatabase} and {@link openTestDatabase}. */
export interface TestDatabaseOptions {
  /** Part of the database's name, to recognise it in a list of databases. Default: `test`. */
  readonly name?: string | undefined;
}

/**
 * Creates a database on a real PostgreSQL server: the one named by `SVC_TEST_DATABASE_URL`, else a server that all
 * processes in a test run share and that stops after the last of them.
 *
 * @throws NoServerError if PostgreSQL is not installed; Error if the server named by the variable does not respond
 */
export async function openTestDatabase({
  name = "test",
}: TestDatabaseOptions = {}): Promise<OpenTestDatabase> {
  const given = fromEnvironment("SVC_TEST_DATABASE_URL");
  const admin =
    given ?? (await sharedServer("postgres.json", (file) => joinPostgres({ purpose: "test" }, file)));
  if (given !== undefined) await answersWithin("SVC_TEST_DATABASE_URL", given);
  const label = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .slice(0, 40);
  const database = `t_${label}_${randomBytes(4).toString("hex")}`;
  // Copying the files of a template takes two thirds of the CPU time of PostgreSQL's default way. On a foreign server
  // the default is safer: a template1 may have content, and copying files writes everybody's changes to the disk.
  const template = given === undefined ? "template1 strategy file_copy" : "template0";
  await execute(admin, `create database ${database} template ${template}`);
  const url = new URL(admin);
  url.pathname = `/${database}`;
  return {
    url: url.href,
    [Symbol.asyncDispose]: () => execute(admin, `drop database if exists ${database} with (force)`),
  };
}

async function execute(url: string, sql: string): Promise<void> {
  const config = { connectionString: url, connectionTimeoutMillis: 20_000 };
  await withClient(config, (client) => client.query(sql));
}

/**
 * Provides a `describe` with its own database, created before its first test and dropped after its last. Without
 * PostgreSQL the `describe` is skipped, as by `testProgram()`.
 *
 * @example describe("expenses", () => { const database = testDatabase(); it("are kept", async () => { const pool = new
 *   Pool({ connectionString: database.url }); ... }); });
 */
export function testDatabase(options: TestDatabaseOptions = {}): TestDatabase {
  needsSharedPostgres();
  return fixtureOf(["url"], {
    what: "the database",
    names: ["testDatabase()", "openTestDatabase()"],
    open: () => openTestDatabase(options),
    close: (database) => database[Symbol.asyncDispose](),
  });
}
