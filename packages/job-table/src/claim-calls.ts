import { type Queryable, type Row, sqlStateOf } from "@svc/sql";
import type { NewRow } from "./new-job.ts";
import type { ResolvedOptions } from "./options.ts";
import {
  type ClaimedRow,
  claimSql,
  gatheringClaimSql,
  MAX_SPENT,
  measuredClaimSql,
  readingClaimSql,
  steppingClaimSql,
} from "./sql/claim.ts";

/** Sends the claims of `claim()`. */
export interface Calls {
  claim(limit: number, tx: Queryable | undefined): Promise<readonly ClaimedRow[]>;
  /** A job is about to be queued here. */
  queued(row: NewRow): void;
}

type Send = <R extends Row>(text: string, values: unknown[], tx?: Queryable) => Promise<R[]>;

// What a server needs for a claim of a table that is in order, or less.
const SLOW_MS = 1;
const PER_JOB_MS = 0.1;
const LOOK_EVERY_MS = 1000;
// Who commits later than others may have an earlier `available_at`: so much later is still found at once.
const MARGIN_MS = 50;
// What a server reads of a table: pages of what is kept at the most, and rows that are there at the least.
const PAGES_PER_MS = 384;
const ROWS_PER_MS = 2500;
// One may take so many times as long by chance, but not five in a row, nor if that is long.
const LOST_TIMES = 1.5;
const LOST_IN_A_ROW = 5;
const LONG_MS = 100;
const REST_MS = 10_000;
const MAX_REST_MS = 640_000;

/**
 * A claim looks at everything. Old snapshots of other sessions keep the rows of claimed jobs from being cleared away, and it
 * reads them all: after some that took long, those of the next second take another statement.
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
      // A role that may not ask can claim all the same.
      if (sqlStateOf(error)?.startsWith("42") === true) measured = undefined;
      throw error;
    }
  }

  async function claimWhole(limit: number): Promise<readonly ClaimedRow[]> {
    // Those that are sent meanwhile need not do so too.
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
      // One that may be rolled back says nothing about the next one.
      if (tx !== undefined) return send<ClaimedRow>(whole, [limit, visibilityTimeoutSeconds], tx);
      const claimed = now() < lookAt ? other.claim(limit) : claimWhole(limit);
      // What it had found is pending again.
      claimed.catch(() => lookAtEverything());
      return claimed;
    },
    queued: (row) => other.queued?.(row),
  };
}

/** How long it took to find them. */
function readingMs([first]: readonly ClaimedRow[], limit: number): number {
  return first === undefined ? 0 : first.took_ms - PER_JOB_MS * limit;
}

/** What is sent after a claim that took long. */
interface Other {
  /** How many of those in a row it takes. */
  readonly after: number;
  /** Whether it can be, after a claim of everything that found these and read for so long. */
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

/** A way of reading. */
interface Way {
  readonly text: string;
  /** How long the last ones read. */
  ms: number;
  /** When it is tried again, however long that was, and the time until then. */
  tryAt: number;
  tryEveryMs: number;
}

const wayOf = (text: string): Way => ({ text, ms: Infinity, tryAt: -Infinity, tryEveryMs: REST_MS });

/**
 * Keeps the order exactly, reads what is kept in less time, and leaves jobs at the end of their last lease for later: by both
 * indexes or, where the table is small for what is kept, from the table, whichever is the quicker one. Where many jobs are
 * due it may read far more, or fail by that; then it rests, the longer the more often that happens.
 */
const sorting: MakeOther = (table, { visibilityTimeoutSeconds, now }, send, lookAtEverything) => {
  const gather = wayOf(gatheringClaimSql(table));
  const read = wayOf(readingClaimSql(table));
  let ways = [gather];
  let wholeMs = 0;
  let lost = 0;
  let restMs = REST_MS;
  let restUntil = -Infinity;

  /** A way, and whether it is only tried. */
  function pick(): [Way, boolean] {
    const due = ways.find(({ tryAt }) => now() >= tryAt);
    if (due === undefined) return [ways.reduce((best, way) => (way.ms < best.ms ? way : best)), false];
    // Those that are sent meanwhile take what is known.
    due.tryAt = now() + due.tryEveryMs;
    return [due, true];
  }

  function learn(way: Way, ms: number, isTry: boolean): void {
    // One that took long by chance does not make it the slower one.
    way.ms = isTry || way.ms === Infinity ? ms : way.ms + (ms - way.ms) / 4;
    way.tryEveryMs = ms > LOST_TIMES * wholeMs ? Math.min(2 * way.tryEveryMs, MAX_REST_MS) : REST_MS;
    way.tryAt = now() + way.tryEveryMs;
    compare(Math.min(...ways.map((each) => (each === way ? ms : each.ms))));
  }

  function compare(ms: number): void {
    // One of those that were sent at once is enough.
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
    // One may be slow by chance.
    after: 3,
    begin(rows, ms) {
      wholeMs = ms;
      ways = isSmallFor(ms, rows[0]) ? [gather, read] : [gather];
      // There may be more of those that are dead now.
      return now() >= restUntil && rows.filter(({ spent }) => spent).length < MAX_SPENT;
    },
    async claim(limit) {
      const [way, isTry] = pick();
      const sent = send<ClaimedRow>(way.text, [limit, visibilityTimeoutSeconds]);
      // It may be for the time that it took.
      sent.catch(() => learn(way, Infinity, isTry));
      const rows = await sent;
      if (rows.length > 0) learn(way, readingMs(rows, limit), isTry);
      // There may be one whose last lease has ended.
      if (rows.length < limit) lookAtEverything();
      return rows.sort((a, b) => a.available_ms - b.available_ms);
    },
  };
};

/** Whether a table may be read in so many milliseconds. Not one of which nothing is known. */
function isSmallFor(ms: number, { relpages, reltuples }: Partial<ClaimedRow> = {}): boolean {
  if (typeof relpages !== "number" || typeof reltuples !== "number" || relpages <= 0 || reltuples < 0)
    return false;
  return relpages / PAGES_PER_MS + reltuples / ROWS_PER_MS <= ms;
}

/**
 * For a relaxed order: begins where the last claim ended, and looks further only when it finds too few. What was put before that
 * place meanwhile waits for a second, if enough others are due.
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
      // There may be more of those.
      if (rows.some((row) => row.available_ms < start)) lookAtEverything();
      return rows;
    },
    queued({ availableAt }) {
      if (availableAt !== null && Date.parse(availableAt) < from) lookAtEverything();
    },
  };
};

/** Where the next claim begins: all that was due before has been taken. */
function endOf(rows: readonly ClaimedRow[]): number {
  return (rows.findLast(({ spent }) => !spent)?.available_ms ?? -Infinity) - MARGIN_MS;
}
