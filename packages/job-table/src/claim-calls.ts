import { type Queryable, type Row, sqlStateOf } from "@svc/sql";
import type { NewRow } from "./new-job.ts";
import type { ResolvedOptions } from "./options.ts";
import {
  claimSql,
  gatheringClaimSql,
  MAX_EXHAUSTED,
  measuredClaimSql,
  readingClaimSql,
  steppingClaimSql,
} from "./sql/claim.ts";
import type { ClaimedRow } from "./sql/claimed-row.ts";

/** Sends the statements for `claim()`. */
export interface Calls {
  claim(limit: number, tx: Queryable | undefined): Promise<readonly ClaimedRow[]>;
  /** Call before this process queues a job. */
  queued(row: NewRow): void;
}

type Send = <R extends Row>(text: string, values: unknown[], tx?: Queryable) => Promise<R[]>;

// A claim on a healthy table takes at most SLOW_MS plus PER_JOB_MS for each job.
const SLOW_MS = 1;
const PER_JOB_MS = 0.1;
const LOOK_EVERY_MS = 1000;
// Start the next claim this long before the last claimed `available_at`, to find jobs whose transactions commit later.
const MARGIN_MS = 50;
// Assumed reading speed of a server.
const PAGES_PER_MS = 384;
const ROWS_PER_MS = 2500;
// Stop using the alternative statement after five consecutive claims, or one of 100 ms or more, that took over 1.5 times
// as long as the full statement.
const LOST_TIMES = 1.5;
const LOST_IN_A_ROW = 5;
const LONG_MS = 100;
const REST_MS = 10_000;
const MAX_REST_MS = 640_000;

/**
 * Creates the claim calls for a table. While an old snapshot in another session prevents the cleanup of claimed rows,
 * the full statement reads them too. After slow claims, an alternative statement is therefore used for a second at a
 * time.
 */
export function createCalls(table: string, options: ResolvedOptions, send: Send): Calls {
  const { visibilityTimeoutSeconds, claimOrder, now } = options;
  const whole = claimSql(table);
  let measured = claimOrder === "relaxed" ? undefined : measuredClaimSql(table);
  const makeOther = claimOrder === "relaxed" ? stepping : sorting;
  const other = makeOther(table, options, send, lookAtEverything);
  let inARow = 0;
  let isSlow = false;
  let lookAt = -Infinity;

  function lookAtEverything(untilSlow = false): void {
    if (untilSlow) isSlow = false;
    lookAt = -Infinity;
  }

  async function sendMeasured(limit: number): Promise<readonly ClaimedRow[]> {
    const values = [limit, visibilityTimeoutSeconds];
    if (measured === undefined) return send<ClaimedRow>(whole, values);
    try {
      return await send<ClaimedRow>(measured, [...values, table]);
    } catch (error) {
      // Stop reading the statistics: the role may have no access to the catalogue.
      if (sqlStateOf(error)?.startsWith("42") === true) measured = undefined;
      throw error;
    }
  }

  async function claimWhole(limit: number): Promise<readonly ClaimedRow[]> {
    // While this claim measures the full statement, concurrent claims use the alternative.
    if (isSlow) lookAt = now() + LOOK_EVERY_MS;
    const rows = await (inARow > 0
      ? sendMeasured(limit)
      : send<ClaimedRow>(whole, [limit, visibilityTimeoutSeconds]));
    if (rows.every(({ exhausted }) => exhausted)) return rows;
    const ms = readingMs(rows, limit);
    inARow = ms > SLOW_MS ? inARow + 1 : 0;
    isSlow = inARow >= other.after && other.begin(rows, ms);
    lookAt = isSlow ? now() + LOOK_EVERY_MS : -Infinity;
    return rows;
  }

  return {
    claim(limit, tx) {
      // A claim in a transaction may be rolled back, so it predicts nothing about the next claim.
      if (tx !== undefined) return send<ClaimedRow>(whole, [limit, visibilityTimeoutSeconds], tx);
      const claimed = now() < lookAt ? other.claim(limit) : claimWhole(limit);
      // The jobs of the failed claim are still pending, so the next claim considers all jobs.
      claimed.catch(() => lookAtEverything());
      return claimed;
    },
    queued: (row) => other.queued?.(row),
  };
}

/** Returns the milliseconds that the server needed to find the rows. */
function readingMs([first]: readonly ClaimedRow[], limit: number): number {
  return first === undefined ? 0 : first.took_ms - PER_JOB_MS * limit;
}

/** An alternative statement to use after slow claims. */
interface Other {
  /** Number of consecutive slow claims before the statement is used. */
  readonly after: number;
  /**
   * Decides whether to use the statement, after a claim with the full statement returned `rows` and took `ms` to find
   * them.
   */
  readonly begin: (rows: readonly ClaimedRow[], ms: number) => boolean;
  readonly claim: (limit: number) => Promise<readonly ClaimedRow[]>;
  readonly queued?: (row: NewRow) => void;
}

type MakeOther = (
  table: string,
  options: ResolvedOptions,
  send: Send,
  lookAtEverything: (untilSlow?: boolean) => void,
) => Other;

interface Way {
  readonly text: string;
  /** Average reading time of recent claims, in milliseconds. */
  ms: number;
  /** When the statement is tried again even if it is slow, and the interval between such trials. */
  tryAt: number;
  tryEveryMs: number;
}

const wayOf = (text: string): Way => ({ text, ms: Infinity, tryAt: -Infinity, tryEveryMs: REST_MS });

/**
 * The alternative for the exact order. It reads fewer dead row versions, but leaves exhausted jobs to the full
 * statement. It reads both indexes, or all of a small table, whichever is faster. When many due jobs make it slower
 * than the full statement, it is not used for a while, longer each time.
 */
const sorting: MakeOther = (table, { visibilityTimeoutSeconds, now }, send, lookAtEverything) => {
  const gather = wayOf(gatheringClaimSql(table));
  const read = wayOf(readingClaimSql(table));
  let ways = [gather];
  let wholeMs = 0;
  let lost = 0;
  let restMs = REST_MS;
  let restUntil = -Infinity;

  /** Returns the statement to use, and whether to use it as a trial. */
  function pick(): [Way, boolean] {
    const due = ways.find(({ tryAt }) => now() >= tryAt);
    if (due === undefined) return [ways.reduce((best, way) => (way.ms < best.ms ? way : best)), false];
    // During this trial, concurrent claims use the fastest known statement.
    due.tryAt = now() + due.tryEveryMs;
    return [due, true];
  }

  function learn(way: Way, ms: number, isTry: boolean): void {
    // Use a moving average, because a single claim may be slow by chance.
    way.ms = isTry || way.ms === Infinity ? ms : way.ms + (ms - way.ms) / 4;
    way.tryEveryMs = ms > LOST_TIMES * wholeMs ? Math.min(2 * way.tryEveryMs, MAX_REST_MS) : REST_MS;
    way.tryAt = now() + way.tryEveryMs;
    compare(Math.min(...ways.map((each) => (each === way ? ms : each.ms))));
  }

  function compare(ms: number): void {
    // While the statement is not used, ignore concurrent claims that are still running.
    if (now() < restUntil) return;
    lost = ms > LOST_TIMES * wholeMs ? lost + 1 : 0;
    if (lost === 0) restMs = REST_MS;
    if (lost === 0 || (lost < LOST_IN_A_ROW && ms < LONG_MS)) return;
    lost = 0;
    lookAtEverything(true);
    restUntil = now() + restMs;
    restMs = Math.min(2 * restMs, MAX_REST_MS);
  }

  return {
    // One or two claims may be slow by chance.
    after: 3,
    begin(rows, ms) {
      wholeMs = ms;
      ways = isSmallFor(ms, rows[0]) ? [gather, read] : [gather];
      // After a full batch of exhausted jobs there may be more, which only the full statement marks as dead.
      return now() >= restUntil && rows.filter(({ exhausted }) => exhausted).length < MAX_EXHAUSTED;
    },
    async claim(limit) {
      const [way, isTry] = pick();
      const sent = send<ClaimedRow>(way.text, [limit, visibilityTimeoutSeconds]);
      // Count a failed claim as slow, because it may have timed out.
      sent.catch(() => learn(way, Infinity, isTry));
      const rows = await sent;
      if (rows.length > 0) learn(way, readingMs(rows, limit), isTry);
      // There may be exhausted jobs, which only the full statement marks as dead.
      if (rows.length < limit) lookAtEverything();
      return rows.sort((a, b) => a.available_ms - b.available_ms);
    },
  };
};

/** Returns whether a table can be read within `ms`; false without statistics. */
function isSmallFor(ms: number, { relpages, reltuples }: Partial<ClaimedRow> = {}): boolean {
  if (typeof relpages !== "number" || typeof reltuples !== "number" || relpages <= 0 || reltuples < 0)
    return false;
  return relpages / PAGES_PER_MS + reltuples / ROWS_PER_MS <= ms;
}

/**
 * The alternative for the relaxed order. It starts where the last claim ended, and considers earlier jobs only when it
 * finds too few later ones. An earlier job that another process queues may therefore wait up to a second.
 */
const stepping: MakeOther = (table, { visibilityTimeoutSeconds }, send, lookAtEverything) => {
  const text = steppingClaimSql(table);
  let from = -Infinity;
  return {
    after: 1,
    begin(rows) {
      from = endOf(rows);
      return true;
    },
    async claim(limit) {
      const start = from;
      const rows = await send<ClaimedRow>(text, [limit, visibilityTimeoutSeconds, start]);
      from = Math.max(from, endOf(rows));
      // There may be more jobs before the start position.
      if (rows.some((row) => row.available_ms < start)) lookAtEverything();
      return rows;
    },
    queued({ availableAt }) {
      if (availableAt !== null && Date.parse(availableAt) < from) lookAtEverything();
    },
  };
};

/** Returns the start position for the next claim; earlier jobs are already claimed. */
function endOf(rows: readonly ClaimedRow[]): number {
  return (rows.findLast(({ exhausted }) => !exhausted)?.available_ms ?? -Infinity) - MARGIN_MS;
}
