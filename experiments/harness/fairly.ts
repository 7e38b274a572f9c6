import { setTimeout as delay } from "node:timers/promises";
import type { Lateness } from "./lateness.ts";

/** The most repetitions in a run. */
const mostAgain = 8;
/** Milliseconds after which a circuit breaker that a stall has opened is closed again. */
const settleMs = 3000;
/** The shortest stall that counts: with the usual delay of an answer, it can exceed a service's command deadline of 1 s. */
const lateMs = 400;
/** Milliseconds for which a circuit breaker may stay open after a stall, with room for the next probe. */
const openMs = 5000;

/** Repeats work whose result a stall of the machine may have caused. */
export interface Fairly {
  /**
   * Repeats `work` after a pause when a stall of the machine may have caused the result, until the run has used up its
   * repetitions. Slow answers of the tested code are no reason to repeat: a lock causes them too.
   */
  <T>(work: (turn: number) => Promise<T>, mayComeOfIt: (found: T) => boolean): Promise<T>;
  /** The number of repetitions so far. */
  readonly again: number;
}

/** @param pauseMs milliseconds before a repetition */
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
