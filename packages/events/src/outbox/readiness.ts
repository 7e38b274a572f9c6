import type { CheckResult, ReadinessCheck } from "@svc/context";
import { errorText } from "@svc/job-table";
import { singleFlight } from "@svc/resilience";
import { safeErrorText, SqlDeadlineError, sqlStateOf } from "@svc/sql";
import { stateSql } from "./sql.ts";

/** The row that the readiness check reads. */
export interface State extends Record<string, unknown> {
  readonly dead: number;
  readonly pending: number;
  readonly failing: number;
  readonly oldest_seconds: number;
  readonly error: string | null;
}

const WORDS: ReadonlyMap<string | undefined, string> = new Map([
  ["42P01", "its table is missing"],
  ["42501", "the database role has no SELECT privilege on the table"],
  ["42703", "its table lacks a column"],
]);
const OLD_SECONDS = 300;
const QUOTED = 200;
// The query reads all pending rows, so repeat it only after 20 times its duration.
const SHARE = 20;

/** Creates the check. It is never critical, because a failing outbox only delays events. */
export function createOutboxCheck(
  ask: (text: string) => Promise<State[]>,
  sql: string,
  now: () => number,
): ReadinessCheck {
  let last: CheckResult | undefined;
  let askAfter = -Infinity;

  // Join a pending query, so that timed-out checks do not pile up statements.
  const look = singleFlight(async (): Promise<CheckResult> => {
    if (last !== undefined && now() < askAfter) return last;
    const began = now();
    try {
      const [row] = await ask(stateSql(sql));
      last = resultOf(row);
    } catch (error) {
      if (error instanceof SqlDeadlineError) {
        return { healthy: false, detail: `no answer within ${error.timeoutMs} ms` };
      }
      const words = WORDS.get(sqlStateOf(error));
      return { healthy: false, detail: words ?? `not answering (${safeErrorText(error)})` };
    }
    askAfter = now() + SHARE * (now() - began);
    return last;
  });
  return { name: "outbox", critical: false, check: () => look() };
}

function resultOf(state: State | undefined): CheckResult {
  const { dead = 0, pending = 0, failing = 0, oldest_seconds = 0, error = null } = state ?? {};
  const oldest = Math.max(0, Math.round(oldest_seconds));
  const faults: string[] = [];
  if (dead > 0) faults.push(`${dead} event(s) dead`);
  if (failing > 0) {
    faults.push(
      `${failing} event(s) failing (${errorText(error ?? "")
        .replaceAll(/\s+/g, " ")
        .slice(0, QUOTED)})`,
    );
  }
  if (oldest_seconds > OLD_SECONDS) faults.push(`the oldest event has waited for ${oldest} s`);
  return {
    healthy: faults.length === 0,
    detail: faults.length === 0 ? `${pending} event(s) waiting` : faults.join("; "),
    meta: { dead, pending, failing, oldest_seconds: oldest },
  };
}
