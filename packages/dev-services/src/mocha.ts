import { NoServerError } from "./attempts.ts";
import type { Program, ProgramName } from "./programs.ts";
import { requireProgram } from "./require-program.ts";

/** What mocha passes to a hook as `this`. */
interface HookContext {
  timeout(ms: number): unknown;
}

type Hook = (title: string, fn: (this: HookContext) => Promise<void>) => void;

/** Mocha's `before` and `after`, which are global while it loads test files. */
export interface MochaHooks {
  readonly before: Hook;
  readonly after: Hook;
}

/**
 * Returns mocha's `before` and `after`.
 *
 * @param what the function that needs them, for the error message
 * @param instead the function to call outside of mocha
 * @throws Error outside of mocha
 */
export function mochaHooks(what: string, instead: string): MochaHooks {
  const { before, after } = globalThis as Partial<MochaHooks>;
  if (before === undefined || after === undefined)
    throw new Error(`${what} needs mocha's before() and after(); elsewhere call ${instead}`);
  return { before, after };
}

/** A server, or a part of one, that belongs to one describe. */
export interface Fixture<Value> {
  /** What it is, for the titles of the hooks and the error message. */
  readonly what: string;
  /** The function that makes it for mocha, and the one to call outside of mocha. */
  readonly names: readonly [within: string, outside: string];
  readonly open: () => Promise<Value>;
  readonly close: (value: Value) => PromiseLike<void>;
}

/**
 * Opens a fixture before the first test of the describe that is being loaded, and closes it after the last.
 *
 * @returns an object with the given members of the fixture; reading them outside of tests and hooks throws
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
    if (value === undefined) throw new Error(`${what} exists only inside of tests and hooks`);
    return value[name];
  };
  const getters = members.map((name) => [name, { get: () => read(name), enumerable: true }] as const);
  return Object.defineProperties({}, Object.fromEntries(getters)) as Pick<Value, Name>;
}

/** Returns a server as the fixture of a describe whose tests may stop, kill and start it. */
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

/** A program on this machine. */
export interface TestProgram {
  /** The path of its file. */
  readonly path: string;
}

/**
 * Gives a `describe` a program that its tests start. When it is missing, the describe is skipped with its hooks, and the
 * package to install is printed.
 *
 * @param wanted a name, or the description of a program that only this suite needs
 */
export function testProgram(wanted: ProgramName | Program): TestProgram {
  skipSuiteUnless("testProgram()", () => requireProgram(wanted));
  return {
    get path() {
      return requireProgram(wanted);
    },
  };
}
