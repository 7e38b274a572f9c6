import { setTimeout as sleep } from "node:timers/promises";

const MOST_ANEW = 5;

/**
 * What something finds out while nothing held this process or the server up for as long as `longestMs`: who is held up cannot
 * say in time that it lives. What was found out otherwise says nothing, and is found out once more, five times at most.
 *
 * @param ask one round trip to the server
 * @param isGood says what stands all the same: a hold-up makes nothing good
 */
export async function undisturbed<T>(
  longestMs: number,
  ask: () => Promise<unknown>,
  find: () => Promise<T>,
  isGood: (found: T) => boolean,
): Promise<T> {
  for (let before = 0; ; before++) {
    let isOver = false;
    let longest = 0;
    const watching = (async () => {
      for (let last = performance.now(); !isOver;) {
        await sleep(10);
        await ask();
        const now = performance.now();
        longest = Math.max(longest, now - last);
        last = now;
      }
    })();
    watching.catch(() => undefined);
    const found = await find().finally(() => (isOver = true));
    await watching;
    if (isGood(found) || longest < longestMs || before === MOST_ANEW) return found;
  }
}
