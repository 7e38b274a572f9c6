import type { Job } from "../job.ts";
import { deleteSql } from "./ack.ts";
import { claimedJob, type JobRow, NOW, TAKE, UTC_TEXT } from "./claimed-row.ts";

/** A row from a worker's claim: a job, or a row without task that reports the deleted jobs. */
export interface HotRow extends JobRow {
  readonly available_ms: number;
  readonly lease: string;
}

/** Maximum number of jobs for which {@link fewClaimSql} is used. */
export const FEW = 10;

const COLUMNS = `job.id, job.task, job.payload::text as payload, job.attempts::int, job.max_attempts::int, job.request_id, job.tenant_id,
    job.trace, date_part('epoch', job.available_at) * 1000 as available_ms`;

/**
 * Returns an update that claims pending jobs due at or after `$3` (epoch ms), to skip earlier claimed rows that old
 * snapshots keep. Locked rows keep their ctid, so ctid finds them again. The due condition is repeated in a form that
 * matches no index; otherwise a plan made for an empty table would read all due rows.
 */
function update(table: string, inTimeMs: number | undefined): string {
  return `update ${table} as job ${TAKE}
  where ctid = any(array(
    select ctid from ${table}
    where status = 'pending' and available_at <= ${NOW} and available_at >= to_timestamp($3::float8 / 1000)${promptly(inTimeMs)}
    order by available_at limit $1::int for update skip locked
  )) and job.status not in ('running', 'dead') and job.available_at - interval '0' <= ${NOW}`;
}

/**
 * Returns a condition that becomes false after `ms`, when the sender has given up and would not see the claimed jobs.
 * For sessions without their own `statement_timeout`.
 */
function promptly(ms: number | undefined): string {
  if (ms === undefined) return "";
  // `now()` is when the first message arrived; `statement_timestamp()` is taken again after a wait for table locks.
  return ` and clock_timestamp() < now() + interval '${Math.max(1, Math.floor(ms))} milliseconds'`;
}

/**
 * Returns the claim that a worker sends most often (JOB-25). It is short and its rows are unordered, because starting a
 * statement costs more than claiming one job.
 */
export function fewClaimSql(table: string, inTimeMs?: number): string {
  return `${update(table, inTimeMs)}
  returning ${COLUMNS}, to_char(job.locked_until at time zone 'UTC', ${UTC_TEXT}) as lease`;
}

/**
 * Returns {@link fewClaimSql} for many jobs, whose common lease it formats once. With `acked` it also deletes finished
 * jobs (leases in `$4` to `$7`), which saves a commit. Its last row then has the number of valid leases in `attempts`,
 * and their ids in `payload` unless all were valid.
 */
export function hotClaimSql(table: string, acked: boolean, inTimeMs?: number): string {
  const deleted = acked ? `, acked as (${deleteSql(table, 4)})` : "";
  const counted = `
union all select null, null, case when count(*) < cardinality($4::text[]) then to_jsonb(array_agg(id))::text end,
  count(*)::int, null, null, null, null, null, null from acked`;
  return `with claimed as (
  ${update(table, inTimeMs)}
  returning ${COLUMNS}, job.locked_until
)${deleted}
select id, task, payload, attempts, max_attempts, request_id, tenant_id, trace, available_ms,
  (select to_char(locked_until at time zone 'UTC', ${UTC_TEXT}) from claimed limit 1) as lease
from claimed${acked ? counted : ""} order by available_ms`;
}

/** @param nowMs when the jobs were claimed, by the server's clock */
export function hotJobOf(row: HotRow, nowMs: number): Job {
  return claimedJob(row, row.lease, nowMs - row.available_ms);
}
