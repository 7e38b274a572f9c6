import { NoServerError } from "./attempts.ts";

/** What is used of a suite of mocha. */
interface Suite {
  readonly root: boolean;
  readonly suites: readonly Suite[];
  readonly tests: unknown[];
  title: string;
  pending: boolean;
  fullTitle(): string;
  /** The list itself, which mocha goes through when the suite runs. */
  getHooks(kind: string): unknown[];
}

/**
 * Skips the `describe` that is being loaded, when `find` throws a {@link NoServerError}: its tests are counted as
 * skipped, and no hook of it or of a `describe` in it runs, wherever it stands. The reason becomes part of its title, which
 * is what mocha carries from a worker process to the reporter.
 *
 * @param what the function that needs mocha, for the error message
 * @param find throws where something is missing
 * @throws Error outside of a `describe`; what `find` throws when it is no NoServerError
 */
export function skipSuiteUnless(what: string, find: () => unknown): void {
  const suite = loadingSuite(what);
  try {
    find();
  } catch (error) {
    if (!(error instanceof NoServerError)) throw error;
    suite.pending = true;
    dropHooks(suite);
    suite.title += ` [skipped: ${error.summary.replaceAll(/[[\]]/g, "")}]`;
    // `npm test` lists them at its end.
    if (process.env.SVC_TEST_COUNTS === undefined) process.stderr.write(`${suite.fullTitle()}\n`);
  }
}

/** The describe that mocha is loading, which it tells only to what is added to it. */
function loadingSuite(what: string): Suite {
  const { it } = globalThis as { it?: (title: string) => { readonly parent?: Suite } };
  if (it === undefined) throw new Error(`${what} needs mocha; it can be called only inside of a describe`);
  const { parent: suite } = it(what);
  suite?.tests.pop();
  if (suite === undefined || suite.root) throw new Error(`${what} can be called only inside of a describe`);
  return suite;
}

/** Mocha registers no further hooks for a suite that is pending, and would run those that it has. */
function dropHooks(suite: Suite): void {
  for (const kind of ["beforeAll", "beforeEach", "afterEach", "afterAll"]) suite.getHooks(kind).splice(0);
  for (const inner of suite.suites) dropHooks(inner);
}
