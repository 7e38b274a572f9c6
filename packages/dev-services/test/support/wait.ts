import { setTimeout as sleep } from "node:timers/promises";

/** Waits until a condition holds; the limit only ends a failing test. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  ms = 20_000,
): Promise<void> {
  const end = performance.now() + ms;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`still not: ${what}`);
    await sleep(20);
  }
}
