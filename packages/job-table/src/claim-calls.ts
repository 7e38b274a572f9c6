import { type Queryable, type Row, sqlStateOf } from "@svc/sql";
import type { NewRow } from "./new-job.ts";
import type { ResolvedOptions } from "./options.ts";
import {
  claimSql,
  gatheringClaimSql,
  MAX_SPENT,
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

// Longest time that a claim takes on a healthy table.
const SLOW_MS = 1;
const PER_JOB_MS = 0.1;
const LOOK_EVERY_MS = 1000;
// A transaction that commits late may contain an earlier `available_at`. Within this margin the next claim still finds
// the job.
const MARGIN_MS = 50;
// Assumed reading speed of a server, in pages and rows per millisecond.
const PAGES_PER_MS = 384;
const ROWS_PER_MS = 2500;
// By chance a claim may take this many times as long, but not five times in a row and not for a long time.
const LOST_TIMES = 1.5;
const LOST_IN_A_ROW = 5;
const LONG_MS = 100;
const REST_MS = 10_000;
const MAX_REST_MS = 640_000;

/**
 * Creates the claim calls for a table. A claim reads all candidate rows. While old snapshots in other sessions prevent
 * the cleanup of claimed rows, it reads those too. After several slow claims, the claims in the next second therefore
 * use another statement.
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
      // A role without access to the catalogue can still claim jobs.
      if (sqlStateOf(error)?.startsWith("42") === true) measured = undefined;
      throw error;
    }
  }

  async function claimWhole(limit: number): Promise<readonly ClaimedRow[]> {
    // Concurrent claims need not measure too.
    if (isSlow) lookAt = now() + LOOK_EVERY_MS;
    const rows = await (inARow > 0
      ? sendMeasured(limit)
      : send<ClaimedRow>(whole, [limit, visibilityTimeoutSeconds]));
    if (rows.every(({ spent }) => spent)) return rows;
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
      // The jobs in the failed claim are pending again.
      claimed.catch(() => lookAtEverything());
      return claimed;
    },
    queued: (row) => other.queued?.(row),
  };
}

/** Returns the milliseconds that the server spent finding the rows. */
function readingMs([first]: readonly ClaimedRow[], limit: number): number {
  return first === undefined ? 0 : first.took_ms - PER_JOB_MS * limit;
}

/** An alternative statement to use after slow claims. */
interface Other {
  /** Number of consecutive slow claims before the statement is used. */
  readonly after: number;
  /**
   * Decides whether to use the statement, after a full claim that returned these rows and read for this many
   * milliseconds.
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

/** A statement with its measured reading time. */
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
 * Keeps the exact order and reads fewer dead row versions, but leaves exhausted jobs for later. It reads both indexes,
 * or all of a small table, whichever is faster. With many due jobs it may read far more or time out; it then pauses,
 * longer each time.
 */
const sorting: MakeOther = (table, { visibilityTimeoutSeconds, now }, send, lookAtEverything) => {
  const gather = wayOf(gatheringClaimSql(table));
  const read = wayOf(readingClaimSql(table));
  let ways = [gather];
  let wholeMs = 0;
  let lost = 0;
  let restMs = REST_MS;
  let restUntil = -Infinity;

  /** Returns the statement to use, and whether this use is a trial. */
  function pick(): [Way, boolean] {
    const due = ways.find(({ tryAt }) => now() >= tryAt);
    if (due === undefined) return [ways.reduce((best, way) => (way.ms < best.ms ? way : best)), false];
    // During this trial, concurrent claims use the fastest known statement.
    due.tryAt = now() + due.tryEveryMs;
    return [due, true];
  }

  function learn(way: Way, ms: number, isTry: boolean): void {
    // A moving average, so that one claim that is slow by chance changes little.
    way.ms = isTry || way.ms === Infinity ? ms : way.ms + (ms - way.ms) / 4;
    way.tryEveryMs = ms > LOST_TIMES * wholeMs ? Math.min(2 * way.tryEveryMs, MAX_REST_MS) : REST_MS;
    way.tryAt = now() + way.tryEveryMs;
    compare(Math.min(...ways.map((each) => (each === way ? ms : each.ms))));
  }

  function compare(ms: number): void {
    // Count only one of several concurrent claims.
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
      // A full batch of exhausted jobs suggests that there are more.
      return now() >= restUntil && rows.filter(({ spent }) => spent).length < MAX_SPENT;
    },
    async claim(limit) {
      const [way, isTry] = pick();
      const sent = send<ClaimedRow>(way.text, [limit, visibilityTimeoutSeconds]);
      // The claim may have failed because it took too long.
      sent.catch(() => learn(way, Infinity, isTry));
      const rows = await sent;
      if (rows.length > 0) learn(way, readingMs(rows, limit), isTry);
      // Exhausted jobs, which this statement skips, may be left.
      if (rows.length < limit) lookAtEverything();
      return rows.sort((a, b) => a.available_ms - b.available_ms);
    },
  };
};

/** Whether a table can be read within `ms`; false without statistics. */
function isSmallFor(ms: number, { relpages, reltuples }: Partial<ClaimedRow> = {}): boolean {
  if (typeof relpages !== "number" || typeof reltuples !== "number" || relpages <= 0 || reltuples < 0)
    return false;
  return relpages / PAGES_PER_MS + reltuples / ROWS_PER_MS <= ms;
}

/**
 * For the relaxed order: starts where the last claim ended, and considers earlier jobs only when it finds too few. An
 * earlier job that is queued in the meantime waits up to a second if enough later jobs are due.
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

/** Returns the start position for the next claim; all earlier jobs are claimed. */
function endOf(rows: readonly ClaimedRow[]): number {
  return (rows.findLast(({ spent }) => !spent)?.available_ms ?? -Infinity) - MARGIN_MS;
}
