import { fromEnvironment } from "./environment.ts";
import { fixtureOf, skipSuiteUnless, withUrl } from "./mocha.ts";
import { type PostgresServer, requirePostgres, startPostgres } from "./postgres.ts";
import type { PostgresOptions } from "./postgres-process.ts";

/** The results of earlier searches by `only`; a search starts a program, so each runs once. */
const searches = new Map<PostgresOptions["only"], () => void>();

/**
 * Skips a `describe` whose tests start a PostgreSQL themselves when no PostgreSQL is installed, as `testProgram()` does.
 *
 * @param options as of `startPostgres()`
 */
export function needsPostgres(options: Partial<PostgresOptions> = {}): void {
  skipSuiteUnless("needsPostgres()", () => {
    const { only, env, installedUnder } = options;
    if (env === undefined && installedUnder === undefined) searchOnce(only);
    else requirePostgres({ purpose: "test", ...options });
  });
}

/** Does the same for tests that use the server of `SVC_TEST_DATABASE_URL` when the variable is set. */
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

/** The server of one describe. Its tests may stop, kill and start it. */
export interface TestServer {
  /** Available only inside of tests and hooks. */
  readonly server: PostgresServer;
  /** The same as `server.url`. */
  readonly url: string;
}

/**
 * Gives a `describe` of fault tests its own PostgreSQL, started before its first test and ended after its last.
 * Without a PostgreSQL the describe is skipped as by `testProgram()`.
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
