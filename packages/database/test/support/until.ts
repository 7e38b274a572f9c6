import { setTimeout as sleep } from "node:timers/promises";

/** Asks until the answer is not undefined; the ceiling is only there so that a test that fails ends. */
export async function until<T>(what: string, ask: () => Promise<T | undefined>, ms = 15_000): Promise<T> {
  const end = performance.now() + ms;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > end) throw new Error(`still not: ${what}`);
    await sleep(20);
  }
}
