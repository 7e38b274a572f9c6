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

/** A server, or a part of one, that a describe has of its own. */
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
 * @returns a function that returns the fixture; it throws outside of tests and hooks
 */
export function fixtureOf<Value>({ what, names, open, close }: Fixture<Value>): () => Value {
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
  return () => {
    if (value === undefined) throw new Error(`${what} exists only inside of tests and hooks`);
    return value;
  };
}
