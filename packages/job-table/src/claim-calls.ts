import type { Queryable, Row } from "@svc/sql";
import type { NewRow } from "./new-job.ts";
import type { ResolvedOptions } from "./options.ts";
import { type ClaimedRow, claimSql, steppingClaimSql } from "./sql/claim.ts";

/** Sends the claims of `claim()`. */
export interface Calls {
  claim(limit: number, tx: Queryable | undefined): Promise<readonly ClaimedRow[]>;
  /** A job is about to be queued here. */
  queued(row: NewRow): void;
}

type Send = <R extends Row>(text: string, values: unknown[], tx?: Queryable) => Promise<R[]>;

// What a server needs for a claim of a table that is in order, or less.
const SLOW_MS = 1;
const SLOW_PER_JOB_MS = 0.1;
const LOOK_EVERY_MS = 1000;
// Who commits later than others may have an earlier `available_at`: so much later is still found at once.
const MARGIN_MS = 50;

/**
 * A claim looks at everything. Old snapshots of other sessions keep the rows of claimed jobs from being cleared away, and it
 * reads them all: when that takes long and the order may be relaxed, the claims of the next second begin where the last one ended,
 * and look further only when they find too few. What was put before that place meanwhile waits for so long, if enough others
 * are due.
 */
export function createCalls(
  table: string,
  { visibilityTimeoutSeconds, claimOrder, now }: ResolvedOptions,
  send: Send,
): Calls {
  const isRelaxed = claimOrder === "relaxed";
  const whole = claimSql(table);
  const stepping = steppingClaimSql(table);
  let from = -Infinity;
  let isSlow = false;
  let lookAt = -Infinity;

  async function claimWhole(limit: number): Promise<readonly ClaimedRow[]> {
    // Those that are sent meanwhile need not look at everything too.
    lookAt = isSlow ? now() + LOOK_EVERY_MS : -Infinity;
    const rows = await send<ClaimedRow>(whole, [limit, visibilityTimeoutSeconds]);
    const [first] = rows;
    const end = endOf(rows);
    if (first === undefined || end === undefined) return rows;
    isSlow = isRelaxed && first.took_ms > SLOW_MS + SLOW_PER_JOB_MS * limit;
    from = end;
    lookAt = isSlow ? now() + LOOK_EVERY_MS : -Infinity;
    return rows;
  }

  async function claimFrom(start: number, limit: number): Promise<readonly ClaimedRow[]> {
    const rows = await send<ClaimedRow>(stepping, [limit, visibilityTimeoutSeconds, start]);
    from = Math.max(from, endOf(rows) ?? -Infinity);
    // There may be more of those.
    if (rows.some((row) => row.available_ms < start)) lookAt = -Infinity;
    return rows;
  }

  return {
    claim(limit, tx) {
      // One that may be rolled back says nothing about the next one.
      if (tx !== undefined) return send<ClaimedRow>(whole, [limit, visibilityTimeoutSeconds], tx);
      const claimed = now() < lookAt ? claimFrom(from, limit) : claimWhole(limit);
      // What it had found is pending again.
      claimed.catch(() => (lookAt = -Infinity));
      return claimed;
    },
    queued({ availableAt }) {
      if (availableAt !== null && Date.parse(availableAt) < from) lookAt = -Infinity;
    },
  };
}

/** Where the next claim begins: all that was due before has been taken. */
function endOf(rows: readonly ClaimedRow[]): number | undefined {
  const last = rows.findLast(({ spent }) => !spent);
  return last === undefined ? undefined : last.available_ms - MARGIN_MS;
}
