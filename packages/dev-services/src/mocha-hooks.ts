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
