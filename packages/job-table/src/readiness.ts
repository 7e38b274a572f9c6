import type { CheckResult, ReadinessCheck } from "@svc/context";
import { singleFlight } from "@svc/resilience";
import { safeErrorText, SqlDeadlineError, sqlStateOf } from "@svc/sql";

/** What the check asks. */
export interface Probe {
  /** Rejects when the table cannot be read. */
  reach(): Promise<unknown>;
  countDead(): Promise<number>;
}

const WORDS: ReadonlyMap<string | undefined, string> = new Map([
  ["42P01", "its table is missing"],
  ["42501", "the login may not read its table"],
  ["42703", "its table lacks a column"],
]);
// No index has the dead ones: on a table of millions they are counted for a twentieth of the time at most.
const SHARE = 20;

/** Critical when the table cannot be reached; dead jobs are a note that is not. */
export function createCheck(probe: Probe, now: () => number): ReadinessCheck {
  let dead = 0;
  let countAfter = -Infinity;

  // A check that has run into its deadline must not leave one more statement behind every time.
  const look = singleFlight(async (): Promise<CheckResult> => {
    try {
      await probe.reach();
      if (now() >= countAfter) {
        const began = now();
        dead = await probe.countDead();
        countAfter = now() + SHARE * (now() - began);
      }
    } catch (error) {
      if (error instanceof SqlDeadlineError) {
        return { healthy: false, detail: `no answer within ${error.timeoutMs} ms` };
      }
      return {
        healthy: false,
        detail: WORDS.get(sqlStateOf(error)) ?? `not answering (${safeErrorText(error)})`,
      };
    }
    if (dead === 0) return { healthy: true, detail: "connected", meta: { dead } };
    return {
      healthy: false,
      critical: false,
      detail: `${dead} job(s) in the dead-letter queue`,
      meta: { dead },
    };
  });
  return { name: "queue", critical: true, check: () => look() };
}
