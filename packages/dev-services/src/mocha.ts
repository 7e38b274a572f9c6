import { NoServerError } from "./attempts.ts";
import type { Program, ProgramName } from "./programs.ts";
import { requireProgram } from "./require-program.ts";

/** The part of mocha's hook context that this package uses. */
interface HookContext {
  timeout(ms: number): unknown;
}

type Hook = (title: string, fn: (this: HookContext) => Promise<void>) => void;

/** Mocha's `before` and `after`, which are global while mocha loads test files. */
export interface MochaHooks {
  readonly before: Hook;
  readonly after: Hook;
}

/**
 * Returns mocha's `before` and `after`.
 *
 * @param what the calling function, for the error message
 * @param instead the function to call outside mocha
 * @throws Error outside mocha
 */
export function mochaHooks(what: string, instead: string): MochaHooks {
  const { before, after } = globalThis as Partial<MochaHooks>;
  if (before === undefined || after === undefined)
    throw new Error(`${what} needs mocha's before() and after(); outside mocha, call ${instead}`);
  return { before, after };
}

/** A server, or a share of a server, that belongs to one `describe`. */
export interface Fixture<Value> {
  /** Describes the fixture in hook titles and in the error message. */
  readonly what: string;
  /** The function that creates the fixture in mocha, and the one to call outside mocha. */
  readonly names: readonly [within: string, outside: string];
  readonly open: () => Promise<Value>;
  readonly close: (value: Value) => PromiseLike<void>;
}

/**
 * Opens a fixture before the first test in the `describe` that mocha is loading, and closes it after the last test.
 *
 * @returns an object with the named members of the fixture; reading them outside tests and hooks throws
 */
export function fixtureOf<Value extends object, Name extends keyof Value>(
  members: readonly Name[],
  { what, names, open, close }: Fixture<Value>,
): Pick<Value, Name> {
  let value: Value | undefined;
  const { before, after } = mochaHooks(...names);
  before(`start ${what}`, async function () {
    this.timeout(120_000);
    value = await open();
  });
  after(`end ${what}`, async function () {
    this.timeout(60_000);
    if (value !== undefined) await close(value);
    value = undefined;
  });
  const read = (name: Name): unknown => {
    if (value === undefined) throw new Error(`${what} can be read only inside tests and hooks`);
    return value[name];
  };
  const getters = members.map((name) => [name, { get: () => read(name), enumerable: true }] as const);
  return Object.defineProperties({}, Object.fromEntries(getters)) as Pick<Value, Name>;
}

/** Returns the fixture of a `describe` whose tests may stop, kill and start the server. */
export function withUrl<Server extends { readonly url: string }>(
  server: Server,
): { readonly server: Server; readonly url: string } {
  return { server, url: server.url };
}

/** The members of a mocha suite that this file uses. */
interface Suite {
  readonly root: boolean;
  readonly suites: readonly Suite[];
  readonly tests: unknown[];
  title: string;
  pending: boolean;
  fullTitle(): string;
  /** Returns the array that mocha iterates over when the suite runs, not a copy. */
  getHooks(kind: string): unknown[];
}

/**
 * Skips the `describe` that mocha is loading if `find` throws a {@link NoServerError}: its tests count as skipped, and
 * none of its hooks run, including those in nested `describe`s and those defined before this call. The reason is added
 * to its title, which mocha passes from a worker process to the reporter.
 *
 * @param what the calling function, for the error message
 * @param find throws a NoServerError if a program is missing
 * @throws Error outside a `describe`; any other error that `find` throws
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
    // `npm test` prints the reasons at the end, so print them here only outside `npm test`.
    if (process.env.SVC_TEST_COUNTS === undefined) process.stderr.write(`${suite.fullTitle()}\n`);
  }
}

/**
 * Returns the suite of the `describe` that mocha is loading. Mocha exposes it only through a test that is added to it.
 */
function loadingSuite(what: string): Suite {
  const { it } = globalThis as { it?: (title: string) => { readonly parent?: Suite } };
  if (it === undefined) throw new Error(`${what} needs mocha; it can be called only inside of a describe`);
  const { parent: suite } = it(what);
  suite?.tests.pop();
  if (suite === undefined || suite.root) throw new Error(`${what} can be called only inside of a describe`);
  return suite;
}

/**
 * Removes the existing hooks from a pending suite: mocha ignores hooks that are added later, but would run the existing
 * ones.
 */
function dropHooks(suite: Suite): void {
  for (const kind of ["beforeAll", "beforeEach", "afterEach", "afterAll"]) suite.getHooks(kind).splice(0);
  for (const inner of suite.suites) dropHooks(inner);
}

/** A program on this machine. */
export interface TestProgram {
  /** Path of the program's file. */
  readonly path: string;
}

/**
 * Provides a `describe` with a program that its tests start. If the program is missing, the `describe` and its hooks
 * are skipped, and the package to install is printed.
 *
 * @param wanted the name of a known program, or the description of another one
 */
export function testProgram(wanted: ProgramName | Program): TestProgram {
  skipSuiteUnless("testProgram()", () => requireProgram(wanted));
  return {
    get path() {
      return requireProgram(wanted);
    },
  };
}
