import { setTimeout as delay } from "node:timers/promises";
import type { Lateness } from "./lateness.ts";

/** In a whole run. */
const mostAgain = 8;
/** Longer than a breaker is open that a deadline of a busy machine has opened. */
const settleMs = 3000;
/** With what any answer of a busy machine takes, this is the second that a service gives a command. */
const lateMs = 400;
/** After something was late a breaker may be open for so long, with room for the next probe. */
const openMs = 5000;

/** Does things once more that are in doubt. */
export interface Fairly {
  /**
   * Made anew, after a pause, where something was late that no code which is tried has a part in, and what was found may come of
   * that; when a run has done so often enough, what comes stands. What was answered late is no reason: a lock does that, too.
   */
  <T>(work: (turn: number) => Promise<T>, mayComeOfIt: (found: T) => boolean): Promise<T>;
  /** How often something was done once more. */
  readonly again: number;
}

/** @param pauseMs before something is done once more */
export function createFairly(lateness: Pick<Lateness, "longestMs">, pauseMs = settleMs): Fairly {
  let again = 0;
  async function fairly<T>(
    work: (turn: number) => Promise<T>,
    mayComeOfIt: (found: T) => boolean,
  ): Promise<T> {
    for (let turn = 0; ; turn++) {
      const began = performance.now();
      const found = await work(turn);
      const isLate = lateness.longestMs(began - openMs, performance.now()) > lateMs;
      if (again >= mostAgain || !isLate || !mayComeOfIt(found)) return found;
      again += 1;
      await delay(pauseMs);
    }
  }
  return Object.defineProperty(fairly, "again", { get: () => again }) as Fairly;
}
