import { setTimeout as delay } from "node:timers/promises";
import { lastLateAt, type Outcome } from "./client.ts";

/** In a whole run. */
const mostAgain = 8;
/** Longer than a breaker is open that a deadline of a busy machine has opened. */
const settleMs = 3000;
/** Almost the second that a service gives a command of Redis. */
const lateMs = 900;
/** After an answer that was late a breaker may be open for so long, with room for the next probe. */
const openMs = 10_000;

/** Does things once more that are in doubt. */
export interface Fairly {
  /** Made anew, after a pause; when a run has done so often enough, what comes stands. */
  <T>(work: (turn: number) => Promise<T>, isInDoubt: (found: T) => boolean): Promise<T>;
  /** How often something was done once more. */
  readonly again: number;
}

/** @param pauseMs before something is done once more */
export function createFairly(pauseMs = settleMs): Fairly {
  let again = 0;
  async function fairly<T>(work: (turn: number) => Promise<T>, isInDoubt: (found: T) => boolean): Promise<T> {
    for (let turn = 0; ; turn++) {
      const found = await work(turn);
      if (again >= mostAgain || !isInDoubt(found)) return found;
      again += 1;
      await delay(pauseMs);
    }
  }
  return Object.defineProperty(fairly, "again", { get: () => again }) as Fairly;
}

/**
 * Whether the machine was so busy that a service may have given up a command of a Redis that is well, now or a moment ago: it
 * answers 503 then, or without the check, as it has to. So what was asked at that time says nothing of what is asked here.
 * A 503 where no answer was late is none of that.
 */
export function hasMaybeGivenUp(
  outcomes: readonly Pick<Outcome, "status" | "ms">[],
  lateAt = lastLateAt(lateMs),
): boolean {
  const isLate = performance.now() - lateAt < openMs;
  return outcomes.some(({ status, ms }) => ms > lateMs || (status === 503 && isLate));
}
