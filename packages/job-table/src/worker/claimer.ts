import type { Job } from "../job.ts";
import {
  type ClaimedRow,
  FEW,
  fewClaimSql,
  hotClaimSql,
  hotJobOf,
  type HotRow,
  jobOf,
} from "../sql/claim.ts";
import { deleteValues } from "../sql/end.ts";
import {
  deadLetterSql,
  MAX_DEAD,
  MAX_RECOVERED,
  NOTHING_ENDED,
  recoverSql,
  type RecoveredRow,
} from "../sql/recover.ts";
import type { Ends } from "./ends.ts";
import type { Session } from "./session.ts";

/** What a claim has found. */
export interface Claimed {
  readonly jobs: readonly Job[];
  /** Whether there may be more. */
  readonly more: boolean;
}

/** What a sweep has found. */
export interface Swept {
  /** Jobs whose lease had ended on the last attempt; they are dead now (JOB-22). */
  readonly exhausted: readonly Job[];
  /** Whether a job may be claimed. */
  readonly due: boolean;
}

/** Claims jobs for a worker, and recovers those of other workers. */
export interface Claimer {
  claim(session: Session, limit: number, ends: Ends): Promise<Claimed>;
  /** Recovers ended leases in one statement, and in another one makes those dead that were on their last attempt. */
  sweep(session: Session): Promise<Swept>;
  /** Milliseconds until the next sweep is due. */
  untilSweep(): number;
  /** The next sweep and claim look at everything. */
  reset(): void;
}

// Jobs of transactions that commit late have an earlier `available_at`: within this margin the next claim finds them.
const MARGIN_MS = 50;
// Two sweeps follow each other no faster than this, unless the first one found as many as it asked for.
const LEAST_PAUSE_MS = 100;
// However the timers of this process round, a sweep for a known end of a lease comes after it.
const AFTER_END_MS = 2;
// A timestamp that passed through a floating-point number may be a microsecond later.
const ROUNDING_MS = 1;
// An old snapshot makes a sweep read what it keeps of ended leases: sweeps take at most a sixth of the time then.
const PAUSE_PER_READING = 5;
const MAX_PAUSE_MS = 10_000;

/**
 * Claims pending jobs, and deletes finished ones in the same statement. While each claim finds as many as it asks for, the next
 * one begins where it ended: it does not read again what an old snapshot of another session keeps of claimed jobs.
 *
 * A sweep makes jobs `pending` whose lease has ended, so that claims meet them in their order (JOB-34). It runs at the start, when a
 * lease that it saw ends, and every `sweepMs` for those that it did not see.
 *
 * @param inTimeMs after which a claim that had to wait takes nothing
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
  /** Where the next sweep of several in a row begins. */
  let since = -Infinity;
  let from = -Infinity;

  /** Milliseconds from a sweep that found fewer than it asked for to the next one. */
  function pauseAfter({ ended, any, next_ms: nextMs, took_ms: tookMs }: RecoveredRow): number {
    const least = Math.min(LEAST_PAUSE_MS, sweepMs);
    // The next claim does not see what another session is recovering now; one after another sweep does.
    const most = any || since !== -Infinity ? least : sweepMs;
    const wanted = Math.min(most, (nextMs ?? Infinity) + AFTER_END_MS);
    const reading = ended === 0 ? Math.min(PAUSE_PER_READING * tookMs, MAX_PAUSE_MS) : 0;
    return Math.max(least, reading, wanted);
  }

  return {
    async sweep(session) {
      const [swept = NOTHING_ENDED] = await session.query<RecoveredRow>("svc_job_recover", recover, [since]);
      const dead =
        swept.exhausted > 0 ? await session.query<ClaimedRow>("svc_job_dead_letter", deadLetter, []) : [];
      const isFull = swept.ended === MAX_RECOVERED || dead.length === MAX_DEAD;
      sweepAt = isFull ? -Infinity : performance.now() + pauseAfter(swept);
      if (!isFull) since = -Infinity;
      else if (dead.length < MAX_DEAD) since = (swept.reached_ms ?? -Infinity) - ROUNDING_MS;
      // Jobs that were recovered lie before the place that claims have reached.
      from = -Infinity;
      return { exhausted: dead.map(jobOf), due: swept.due || swept.ended > swept.exhausted };
    },
    async claim(session, limit, ends) {
      const done = ends.takeDone();
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
        ends.giveBack(done);
        throw error;
      }
      const acked = done.length === 0 ? undefined : rows.pop();
      if (acked !== undefined) {
        const held: unknown = JSON.parse(String(acked.payload));
        const all = acked.attempts === done.length;
        ends.recordDone(done, all ? undefined : new Set<unknown>(Array.isArray(held) ? held : []));
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
    reset() {
      sweepAt = -Infinity;
      since = -Infinity;
      from = -Infinity;
    },
  };
}
