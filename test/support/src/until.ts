import { setTimeout as sleep } from "node:timers/promises";

/**
 * Polls until the result of `ask` is neither `undefined` nor `false`, and returns it.
 *
 * @param ms time limit in milliseconds, after which it throws
 */
export async function until<T>(
  what: string,
  ask: () => T | Promise<T>,
  ms = 15_000,
): Promise<Exclude<T, undefined | false>> {
  const end = performance.now() + ms;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer as Exclude<T, undefined | false>;
    if (performance.now() > end) throw new Error(`still not: ${what}`);
    await sleep(10);
  }
}
