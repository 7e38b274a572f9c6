import { setTimeout as sleep } from "node:timers/promises";

/** Waits until a condition holds. Throws after `ms` milliseconds, which is only reached when a test fails. */
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
