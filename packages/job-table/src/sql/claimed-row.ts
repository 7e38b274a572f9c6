import type { Job } from "../job.ts";
import { withPayload } from "../payload.ts";
import { storedCarrier } from "../trace.ts";

/** The columns of a job that every claiming statement returns. */
export interface JobRow extends Record<string, unknown> {
  readonly id: string;
  readonly task: string | null;
  /** In a claim: the text of the payload, so that a driver does not round its numbers (JOB-33). */
  readonly payload: unknown;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly request_id: string | null;
  readonly tenant_id: string | null;
  readonly trace: unknown;
}

/** A row of a claim: a job, or with `spent` a job whose last lease expired and which is now dead (JOB-22). */
export interface ClaimedRow extends JobRow {
  readonly task: string;
  readonly lease: string | null;
  readonly available_ms: number;
  readonly waited_ms: number;
  readonly spent: boolean;
  /** Milliseconds that the server took up to this point. */
  readonly took_ms: number;
  /** Pages and rows of the table at its last vacuum or analyse, if asked for; 0 and -1: never. */
  readonly relpages?: number | null;
  readonly reltuples?: number | null;
}

/** The stored error of a job whose lease expired on every attempt. */
export const EXHAUSTED = "lease expired on the last attempt";

// Incrementing must not overflow: one row at the largest integer would block all claims.
const MAX_COUNT = 2 ** 31 - 2;
export const NOW: string = "statement_timestamp()";
export const TOOK: string = `date_part('epoch', clock_timestamp() - ${NOW}) * 1000 as took_ms`;
/** The format of a lease's end, in UTC. */
export const UTC_TEXT = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;

/** The `set` of a claim; `$2`: the lease in seconds. */
export const TAKE: string = `set status = 'running', attempts = least(job.attempts, ${MAX_COUNT}) + 1, locked_until = ${NOW} + $2::float8 * interval '1 second'`;

/** Returns the columns of a {@link ClaimedRow}. Casts help drivers that return a bigint as text. */
export function returned(spent: boolean): string {
  // `date_part`, because an infinite timestamp cannot be subtracted.
  return `job.id, job.task, job.payload::text as payload, job.attempts::int, job.max_attempts::int, job.request_id,
    job.tenant_id, job.trace, to_char(job.locked_until at time zone 'UTC', ${UTC_TEXT}) as lease,
    date_part('epoch', job.available_at) * 1000 as available_ms,
    (date_part('epoch', ${NOW}) - date_part('epoch', job.available_at)) * 1000 as waited_ms, ${String(spent)} as spent`;
}

export function jobOf(row: ClaimedRow): Job {
  return claimedJob(row, row.lease ?? "", row.waited_ms);
}

/** @param waitedMs how long the job was due; a negative time counts as none */
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
