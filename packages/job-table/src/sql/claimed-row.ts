import type { Job } from "../job.ts";
import { withPayload } from "../payload.ts";
import { storedCarrier } from "../trace.ts";

/** The columns of a job that every claiming statement returns. */
export interface JobRow extends Record<string, unknown> {
  readonly id: string;
  readonly task: string | null;
  /** The payload. In a claim it is a string, so that a driver does not round its numbers (JOB-33). */
  readonly payload: unknown;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly request_id: string | null;
  readonly tenant_id: string | null;
  readonly trace: unknown;
}

/**
 * A row that a claim returns: a job, or with `exhausted` a job that is now dead because its lease expired on the last
 * attempt (JOB-22).
 */
export interface ClaimedRow extends JobRow {
  readonly task: string;
  readonly lease: string | null;
  readonly available_ms: number;
  readonly waited_ms: number;
  readonly exhausted: boolean;
  /** Milliseconds that the server has used for the statement so far. */
  readonly took_ms: number;
  /** Pages and rows in the table at its last vacuum or analyse, if requested; 0 and -1 if there was none. */
  readonly relpages?: number | null;
  readonly reltuples?: number | null;
}

/** The stored error of a job whose lease expired on the last attempt. */
export const EXHAUSTED = "lease expired on the last attempt";

// The increment must not overflow: one row with the largest integer would block all claims.
const MAX_COUNT = 2 ** 31 - 2;
export const NOW: string = "statement_timestamp()";
export const TOOK: string = `date_part('epoch', clock_timestamp() - ${NOW}) * 1000 as took_ms`;
/** The format for the expiry time of a lease, in UTC. */
export const UTC_TEXT = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;

/** The `set` clause of a claim; `$2` is the lease in seconds. */
export const TAKE: string = `set status = 'running', attempts = least(job.attempts, ${MAX_COUNT}) + 1, locked_until = ${NOW} + $2::float8 * interval '1 second'`;

/** Returns the columns for a {@link ClaimedRow}. Casts are for drivers that return a bigint as a string. */
export function returned(exhausted: boolean): string {
  // Use `date_part`, because infinite timestamps cannot be subtracted.
  return `job.id, job.task, job.payload::text as payload, job.attempts::int, job.max_attempts::int, job.request_id,
    job.tenant_id, job.trace, to_char(job.locked_until at time zone 'UTC', ${UTC_TEXT}) as lease,
    date_part('epoch', job.available_at) * 1000 as available_ms,
    (date_part('epoch', ${NOW}) - date_part('epoch', job.available_at)) * 1000 as waited_ms, ${String(exhausted)} as exhausted`;
}

export function jobOf(row: ClaimedRow): Job {
  return claimedJob(row, row.lease ?? "", row.waited_ms);
}

/** @param waitedMs how long the job was due; negative values count as 0 */
export function claimedJob(row: JobRow, lockedUntil: string, waitedMs: number): Job {
  const job = {
    id: row.id,
    task: row.task ?? "",
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    requestId: row.request_id ?? undefined,
    tenantId: row.tenant_id ?? undefined,
    trace: storedCarrier(row.trace),
    lockedUntil,
    waitedMs: Math.max(0, waitedMs),
  };
  return withPayload(job, row.payload);
}
