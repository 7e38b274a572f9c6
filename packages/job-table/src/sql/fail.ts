import { QUIET_PAUSE_MS } from "../notifier.ts";
import { HELD } from "./lease-fence.ts";

/**
 * Returns the statement that delays failed jobs by min(2 x 2^(attempts - 1), 300) seconds or marks them as dead (JOB-8,
 * JOB-9). `$1` to `$3`: leases, `$4`: errors, `$5`: whether to mark as dead immediately, `$6`: the channel to notify if
 * a job is due before the next sweep of a quiet table.
 */
export function failSql(table: string, notifies: boolean): string {
  const dead = "lease.no_retry or job.attempts >= job.max_attempts";
  const isSoon = `job.status = 'pending' and job.available_at <= statement_timestamp() + ${QUIET_PAUSE_MS} * interval '1 millisecond'`;
  const notified = notifies ? `, case when ${isSoon} then pg_notify($6, '') end` : "";
  return `update ${table} as job set
  status = case when ${dead} then 'dead' else 'pending' end,
  locked_until = null,
  available_at = case when ${dead} then job.available_at
    else statement_timestamp() + least(2 * power(2, greatest(least(job.attempts, 10), 1) - 1), 300) * interval '1 second' end,
  last_error = lease.error
from unnest($1::text[], $2::int[], $3::timestamptz[], $4::text[], $5::bool[])
  as lease (id, attempts, locked_until, error, no_retry)
where ${HELD} returning job.id, job.status${notified}`;
}
