import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "pg";
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
  // The strategy file_copy takes two thirds of the CPU time of the default. On the server named by the variable, use the
  // default and template0: template1 may have content, and file_copy forces a checkpoint of the whole server.
  const template = given === undefined ? "template1 strategy file_copy" : "template0";
  await withAdmin(admin, (client) => client.query(`create database ${database} template ${template}`));
  const url = new URL(admin);
  url.pathname = `/${database}`;
  return {
    url: url.href,
    [Symbol.asyncDispose]: () =>
      withAdmin(admin, async (client) => {
        await untilUnused(client, database);
        await client.query(`drop database if exists ${database} with (force)`);
      }),
  };
}

async function withAdmin(url: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  await withClient({ connectionString: url, connectionTimeoutMillis: 20_000 }, work);
}

/**
 * Waits until no connection uses the database, at most 300 ms. `pool.end()` resolves before the server has closed the
 * connections. A connection that the server ends by force emits an error, which ends a process whose pool has no listener.
 */
async function untilUnused(client: Client, database: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < 300; waitedMs += 10) {
    const { rowCount } = await client.query("select from pg_stat_activity where datname = $1", [database]);
    if (rowCount === 0) return;
    await delay(10);
  }
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
