import { fromEnvironment } from "./environment.ts";
import { fixtureOf, skipSuiteUnless, withUrl } from "./mocha.ts";
import { type PostgresServer, requirePostgres, startPostgres } from "./postgres.ts";
import type { PostgresOptions } from "./postgres-process.ts";

/** Results of earlier searches, by `only`. A search starts a program, so each search runs once. */
const searches = new Map<PostgresOptions["only"], () => void>();

/**
 * Skips a `describe` whose tests start PostgreSQL themselves if PostgreSQL is not installed, as `testProgram()` does.
 *
 * @param options the options passed to `startPostgres()`
 */
export function needsPostgres(options: Partial<PostgresOptions> = {}): void {
  skipSuiteUnless("needsPostgres()", () => {
    const { only, env, installedUnder } = options;
    if (env === undefined && installedUnder === undefined) searchOnce(only);
    else requirePostgres({ purpose: "test", ...options });
  });
}

/** Does what {@link needsPostgres} does, unless the tests use the server named by `SVC_TEST_DATABASE_URL`. */
export function needsSharedPostgres(): void {
  if (fromEnvironment("SVC_TEST_DATABASE_URL") === undefined) needsPostgres();
}

function searchOnce(only: PostgresOptions["only"]): void {
  let search = searches.get(only);
  if (search === undefined) {
    search = resultOf(() => void requirePostgres({ purpose: "test", only }));
    searches.set(only, search);
  }
  search();
}

/** Calls a function once; the returned function throws the same error, if any. */
function resultOf(work: () => void): () => void {
  try {
    work();
    return () => undefined;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** The server for one describe. Its tests may stop, kill and start it. */
export interface TestServer {
  /** Available only in tests and hooks. */
  readonly server: PostgresServer;
  /** The same as `server.url`. */
  readonly url: string;
}

/**
 * Provides a `describe` that contains fault tests with its own PostgreSQL server, started before its first test and
 * stopped after its last. Without PostgreSQL the describe is skipped, as by `testProgram()`.
 */
export function testPostgresServer(options: Partial<PostgresOptions> = {}): TestServer {
  needsPostgres(options);
  return fixtureOf(["server", "url"], {
    what: "the PostgreSQL server",
    names: ["testPostgresServer()", "startPostgres()"],
    open: async () => withUrl(await startPostgres({ purpose: "test", ...options })),
    close: ({ server }) => server.stop(),
  });
}
