import type { Job } from "../job.ts";
import { type ClaimedRow, jobOf } from "../sql/claimed-row.ts";
import { FEW, fewClaimSql, hotClaimSql, hotJobOf, type HotRow } from "../sql/worker-claim.ts";
import { deleteValues } from "../sql/ack.ts";
import {
  deadLetterSql,
  MAX_DEAD,
  MAX_RECOVERED,
  NOTHING_ENDED,
  recoverSql,
  type RecoveredRow,
} from "../sql/recover.ts";
import type { Completions } from "./completions.ts";
import type { Session } from "./session.ts";

export interface Claimed {
  readonly jobs: readonly Job[];
  /** Whether there may be more due jobs. */
  readonly more: boolean;
}

export interface Swept {
  /** Jobs that are now dead because their leases expired on the last attempt (JOB-22). */
  readonly exhausted: readonly Job[];
  readonly due: boolean;
  /** Whether the sweep found no due job and no expired lease. */
  readonly quiet: boolean;
}

/** Claims jobs for a worker, and recovers expired leases from other workers. */
export interface Claimer {
  claim(session: Session, limit: number, completions: Completions): Promise<Claimed>;
  /**
   * Recovers expired leases; a second statement marks jobs whose lease expired on the last attempt as dead. The next sweep is
   * due after `pauseMs` (default: `sweepMs`), or earlier when a job becomes due or a lease expires.
   */
  sweep(session: Session, pauseMs?: number): Promise<Swept>;
  /** Returns the milliseconds until the next sweep. */
  untilSweep(): number;
  /** Call when another worker starts or ends a sweep; the next sweep is due in `ms`. */
  sweptElsewhere(ms: number): void;
  /** Makes the next sweep run within `sweepMs`. */
  hasten(): void;
  /** Makes a sweep due now, and lets the next sweep and claim start with the earliest rows. */
  reset(): void;
}

// Start the next claim this long before the last claimed `available_at`, to find jobs whose transactions commit later.
const MARGIN_MS = 50;
// Minimum time that a sweep looks ahead.
const LEAST_HORIZON_MS = 1000;
// Minimum pause between two sweeps, unless the first sweep was full.
const LEAST_PAUSE_MS = 100;
// Timers round, so run the sweep for a known expiry time slightly later.
const AFTER_END_MS = 2;
// A floating-point timestamp may be off by a microsecond.
const ROUNDING_MS = 1;
// While an old snapshot makes each sweep read dead index entries, pauses limit sweeps to a sixth of the time.
const PAUSE_PER_READING = 5;
const MAX_PAUSE_MS = 10_000;

/**
 * Creates a claimer. Its claims also delete finished jobs. While claims are full, the next one starts where the last
 * one ended, and so skips claimed rows that an old snapshot keeps.
 *
 * A sweep makes jobs with expired leases `pending` again, so that claims find them in order (JOB-34). It runs at the
 * start, at each expiry time that an earlier sweep found, and every `sweepMs` unless the table is quiet.
 *
 * @param inTimeMs milliseconds after which a delayed claim must claim nothing. Default: no limit
 */
export function createClaimer(
  table: string,
  visibilityTimeoutSeconds: number,
  sweepMs: number,
  inTimeMs?: number,
): Claimer {
  const recover = recoverSql(table);
  const deadLetter = deadLetterSql(table);
  const few = fewClaimSql(table, inTimeMs);
  const hot = hotClaimSql(table, false, inTimeMs);
  const fused = hotClaimSql(table, true, inTimeMs);
  let sweepAt = -Infinity;
  /** Expiry time at which the next sweep starts after a full sweep. */
  let since = -Infinity;
  let from = -Infinity;

  /** Returns the milliseconds from a sweep that was not full to the next one. */
  function pauseAfter(
    { ended, any, next_ms: nextMs, took_ms: tookMs }: RecoveredRow,
    pauseMs: number,
  ): number {
    const least = Math.min(LEAST_PAUSE_MS, sweepMs);
    // Sweep again soon, because the next claim does not see jobs that another session is still recovering.
    const most = any || since !== -Infinity ? least : pauseMs;
    const wanted = Math.min(most, (nextMs ?? Infinity) + AFTER_END_MS);
    const reading = ended === 0 ? Math.min(PAUSE_PER_READING * tookMs, MAX_PAUSE_MS) : 0;
    return Math.max(least, reading, wanted);
  }

  return {
    async sweep(session, pauseMs = sweepMs) {
      const horizonMs = Math.max(LEAST_HORIZON_MS, pauseMs);
      const values = [since, horizonMs];
      const [swept = NOTHING_ENDED] = await session.query<RecoveredRow>("svc_job_recover", recover, values);
      const dead =
        swept.exhausted > 0 ? await session.query<ClaimedRow>("svc_job_dead_letter", deadLetter, []) : [];
      const isFull = swept.ended === MAX_RECOVERED || dead.length === MAX_DEAD;
      sweepAt = isFull ? -Infinity : performance.now() + pauseAfter(swept, pauseMs);
      if (!isFull) since = -Infinity;
      else if (dead.length < MAX_DEAD) since = (swept.reached_ms ?? -Infinity) - ROUNDING_MS;
      // Recovered jobs may be earlier than the start position of claims.
      from = -Infinity;
      const due = swept.due || swept.ended > swept.exhausted;
      return { exhausted: dead.map(jobOf), due, quiet: !due && !swept.any };
    },
    async claim(session, limit, completions) {
      const done = completions.takeDone();
      const started = from;
      let rows: HotRow[];
      try {
        const values: unknown[] = [limit, visibilityTimeoutSeconds, started];
        if (done.length === 0 && limit <= FEW) {
          rows = await session.query<HotRow>("svc_job_few_claim", few, values);
          rows.sort((a, b) => a.available_ms - b.available_ms);
        } else if (done.length === 0) rows = await session.query("svc_job_hot_claim", hot, values);
        else {
          const leases = deleteValues(done.map(({ job }) => job));
          rows = await session.query("svc_job_fused_claim", fused, [...values, ...leases]);
        }
      } catch (error) {
        completions.putBack(done);
        throw error;
      }
      const acked = done.length === 0 ? undefined : rows.pop();
      if (acked !== undefined) {
        const held: unknown = JSON.parse(String(acked.payload));
        const all = acked.attempts === done.length;
        completions.deleted(done, all ? undefined : new Set<unknown>(Array.isArray(held) ? held : []));
      }
      const filled = rows.length === limit;
      from = filled ? (rows.at(-1)?.available_ms ?? -Infinity) - MARGIN_MS : -Infinity;
      const nowMs = Date.parse(rows[0]?.lease ?? "") - visibilityTimeoutSeconds * 1000;
      return {
        jobs: rows.map((row) => hotJobOf(row, nowMs)),
        more: filled || started !== -Infinity,
      };
    },
    untilSweep: () => sweepAt - performance.now(),
    sweptElsewhere(ms) {
      sweepAt = performance.now() + Math.max(ms, LEAST_PAUSE_MS);
      from = -Infinity;
    },
    hasten() {
      sweepAt = Math.min(sweepAt, performance.now() + sweepMs);
    },
    reset() {
      sweepAt = -Infinity;
      since = -Infinity;
      from = -Infinity;
    },
  };
}
