import { fromEnvironment } from "./environment.ts";
import { type PostgresOptions, requirePostgres } from "./postgres.ts";
import { skipSuiteUnless } from "./skip-suite.ts";

/** What was found, because every look starts a program: of any PostgreSQL, of the npm package, of the installed one. */
const looks = new Map<PostgresOptions["only"], () => void>();

/**
 * For a `describe` whose tests start a PostgreSQL themselves. Where there is none it is skipped as by `testProgram()`.
 *
 * @param options as of `startPostgres()`
 */
export function needsPostgres(options: Partial<PostgresOptions> = {}): void {
  skipSuiteUnless("needsPostgres()", () => {
    const { only, env, installedUnder } = options;
    if (env === undefined && installedUnder === undefined) lookOnce(only);
    else requirePostgres({ purpose: "test", ...options });
  });
}

/** The same for tests that take the PostgreSQL of `SVC_TEST_DATABASE_URL` where it is named. */
export function needsSharedPostgres(): void {
  if (fromEnvironment("SVC_TEST_DATABASE_URL") === undefined) needsPostgres();
}

function lookOnce(only: PostgresOptions["only"]): void {
  let look = looks.get(only);
  if (look === undefined) {
    look = resultOf(() => void requirePostgres({ purpose: "test", only }));
    looks.set(only, look);
  }
  look();
}

/** Calls a function once; what comes back throws what it threw. */
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
