import { setTimeout as sleep } from "node:timers/promises";

/** Asks until the answer is true, for at most 15 s. */
export async function until(what: string, ask: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 15_000;
  while (!(await ask())) {
    if (performance.now() > end) throw new Error(`it did not come to this: ${what}`);
    await sleep(10);
  }
}

/** What a promise rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  try {
    await promise;
  } catch (error) {
    return error as Error & Record<string, unknown>;
  }
  throw new Error("it did not reject");
}
