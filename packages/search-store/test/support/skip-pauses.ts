import { syncBuiltinESMExports } from "node:module";

const timers: { setTimeout: unknown } = process.getBuiltinModule("node:timers/promises");

type Pause = (ms?: number, ...rest: unknown[]) => Promise<unknown>;

/**
 * Makes every pause by `setTimeout()` of `node:timers/promises` end at once, until the result is disposed.
 *
 * @param onPause receives the milliseconds that each pause would have taken
 */
export function skipPauses(onPause: (ms: number) => void): Disposable {
  const pause = timers.setTimeout as Pause;
  const replace = (by: Pause): void => {
    timers.setTimeout = by;
    syncBuiltinESMExports();
  };
  replace((ms = 1, ...rest) => {
    onPause(ms);
    return pause(0, ...rest);
  });
  return { [Symbol.dispose]: () => replace(pause) };
}
