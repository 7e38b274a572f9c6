import { fromEnvironment } from "./environment.ts";
import { requirePostgres } from "./postgres.ts";
import type { PostgresOptions } from "./postgres-process.ts";
import { skipSuiteUnless } from "./skip-suite.ts";

/** The results of earlier searches by `only`; a search starts a program, so each runs once. */
const looks = new Map<PostgresOptions["only"], () => void>();

/**
 * Skips a `describe` whose tests start a PostgreSQL themselves when no PostgreSQL is installed, as `testProgram()` does.
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

/** Does the same for tests that use the server of `SVC_TEST_DATABASE_URL` when the variable is set. */
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
