import { NoServerError } from "./attempts.ts";

/** The members of a mocha suite that this file uses. */
interface Suite {
  readonly root: boolean;
  readonly suites: readonly Suite[];
  readonly tests: unknown[];
  title: string;
  pending: boolean;
  fullTitle(): string;
  /** Returns the list itself, which mocha iterates over when the suite runs. */
  getHooks(kind: string): unknown[];
}

/**
 * Skips the `describe` that is being loaded when `find` throws a {@link NoServerError}: its tests count as skipped, and no
 * hook of it or of a nested `describe` runs, even one defined before this call. The reason becomes part of its title, which
 * mocha passes from a worker process to the reporter.
 *
 * @param what the function that needs mocha, for the error message
 * @param find throws when something is missing
 * @throws Error outside of a `describe`; any other error that `find` throws
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
    // `npm test` prints the reasons at its end.
    if (process.env.SVC_TEST_COUNTS === undefined) process.stderr.write(`${suite.fullTitle()}\n`);
  }
}

/** Returns the describe that mocha is loading. Mocha reveals it only to a test that is added to it. */
function loadingSuite(what: string): Suite {
  const { it } = globalThis as { it?: (title: string) => { readonly parent?: Suite } };
  if (it === undefined) throw new Error(`${what} needs mocha; it can be called only inside of a describe`);
  const { parent: suite } = it(what);
  suite?.tests.pop();
  if (suite === undefined || suite.root) throw new Error(`${what} can be called only inside of a describe`);
  return suite;
}

/** Removes the hooks that a pending suite already has: mocha would still run them, although it adds no further ones. */
function dropHooks(suite: Suite): void {
  for (const kind of ["beforeAll", "beforeEach", "afterEach", "afterAll"]) suite.getHooks(kind).splice(0);
  for (const inner of suite.suites) dropHooks(inner);
}
