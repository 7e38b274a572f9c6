import type { CheckResult, ReadinessCheck } from "@svc/context";
import { singleFlight } from "@svc/resilience";
import { safeErrorText, SqlDeadlineError, sqlStateOf } from "@svc/sql";

export interface Probe {
  reach(): Promise<unknown>;
  countDead(): Promise<number>;
}

const WORDS: ReadonlyMap<string | undefined, string> = new Map([
  ["42P01", "its table is missing"],
  ["42501", "the database role has no SELECT privilege on the table"],
  ["42703", "its table lacks a column"],
]);
// Dead jobs have no index, so use at most a twentieth of the time for counting them.
const SHARE = 20;

/** Creates the check. It is critical while the table cannot be reached; dead jobs only degrade it. */
export function createCheck(probe: Probe, now: () => number): ReadinessCheck {
  let dead = 0;
  let countAfter = -Infinity;

  // Checks share a pending query, so that timed-out checks do not pile up statements.
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
