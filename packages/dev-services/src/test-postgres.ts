import { fromEnvironment } from "./environment.ts";
import { fixtureOf, skipSuiteUnless, withUrl } from "./mocha.ts";
import { type PostgresServer, requirePostgres, startPostgres } from "./postgres.ts";
import type { PostgresOptions } from "./postgres-process.ts";

/** Cached results of searches, by the value of `only`, because every search starts a program. */
const searches = new Map<PostgresOptions["only"], () => void>();

/**
 * Skips a `describe` if PostgreSQL is not installed, as `testProgram()` does. For tests that start PostgreSQL
 * themselves.
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

/** Calls a function now. Returns a function that throws the same error, if there was one. */
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

/** The PostgreSQL server for one `describe`, whose tests may stop, kill and start it. */
export interface TestServer {
  /** Available only in tests and hooks. */
  readonly server: PostgresServer;
  /** The same as `server.url`. */
  readonly url: string;
}

/**
 * Provides a `describe` with its own PostgreSQL server, for tests that inject faults. The server is started before its
 * first test and stopped after its last. Without PostgreSQL the `describe` is skipped, as by `testProgram()`.
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
