import type { Job } from "../job.ts";
import {
  type ClaimedRow,
  claimSql,
  FEW,
  fewClaimSql,
  hotClaimSql,
  hotJobOf,
  type HotRow,
  jobOf,
} from "../sql/claim.ts";
import { deleteValues } from "../sql/end.ts";
import type { Ends } from "./ends.ts";
import type { Session } from "./session.ts";

/** What a claim has found. */
export interface Claimed {
  readonly jobs: readonly Job[];
  /** Jobs that were found at the end of their last lease and are dead now (JOB-22). */
  readonly spent: readonly Job[];
  /** Whether there may be more. */
  readonly more: boolean;
}

/** Claims jobs for a worker. */
export interface Claimer {
  claim(session: Session, limit: number, ends: Ends): Promise<Claimed>;
  /** Milliseconds until expired leases are looked for again. */
  untilSweep(): number;
  /** The next claim looks at everything. */
  reset(): void;
}

// Who commits later than others may have an earlier `available_at`: so much later is still found at once.
const MARGIN_MS = 50;

/**
 * Looks for expired leases at the start and once every `sweepMs`; in between for pending jobs alone, and deletes finished ones
 * in the same statement. While one claim after the other finds all that it asks for, each begins where the one before it
 * ended: what an old snapshot of somebody else keeps of claimed jobs is not read again.
 *
 * @param inTimeMs after which a claim that had to wait takes nothing
 */
export function createClaimer(
  table: string,
  visibilityTimeoutSeconds: number,
  sweepMs: number,
  inTimeMs?: number,
): Claimer {
  const full = claimSql(table, inTimeMs);
  const few = fewClaimSql(table, inTimeMs);
  const hot = hotClaimSql(table, false, inTimeMs);
  const fused = hotClaimSql(table, true, inTimeMs);
  let sweptAt = -Infinity;
  let isWarm = false;
  let from = -Infinity;

  async function sweep(session: Session, limit: number): Promise<Claimed> {
    // At once: a claim that is sent behind this one need not look at everything too.
    sweptAt = performance.now();
    const rows = await session.query<ClaimedRow>("svc_job_claim", full, [limit, visibilityTimeoutSeconds]);
    const jobs = rows.filter(({ spent }) => !spent).map(jobOf);
    // The first claim in between has the server prepare its statement: better now than when somebody waits for a job.
    const more = jobs.length === limit || !isWarm;
    isWarm = true;
    return { jobs, spent: rows.filter(({ spent }) => spent).map(jobOf), more };
  }

  async function pending(session: Session, limit: number, ends: Ends): Promise<Claimed> {
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
      spent: [],
      more: filled || started !== -Infinity,
    };
  }

  return {
    claim: (session, limit, ends) =>
      performance.now() - sweptAt >= sweepMs ? sweep(session, limit) : pending(session, limit, ends),
    untilSweep: () => sweptAt + sweepMs - performance.now(),
    reset() {
      sweptAt = -Infinity;
      isWarm = false;
      from = -Infinity;
    },
  };
}
