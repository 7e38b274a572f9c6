import { HELD } from "./lease-fence.ts";

/** Returns the statement that releases jobs by their leases (JOB-11) and notifies workers on the channel `$4`. */
export function releaseSql(table: string, notifies: boolean): string {
  return `update ${table} as job set status = 'pending', locked_until = null, available_at = statement_timestamp(),
  attempts = greatest(job.attempts - 1, 0)
from unnest($1::text[], $2::int[], $3::timestamptz[]) as lease (id, attempts, locked_until)
where ${HELD} returning job.id${notifies ? ", pg_notify($4, '')" : ""}`;
}

/**
 * Returns the update that releases a job claimed by its insert, after the response was lost. Only that lease starts
 * exactly at `available_at`; later ones start after it.
 *
 * @param seconds the parameter that holds the duration of the lease
 */
export function orphanUpdate(seconds: string, besides = ""): string {
  return `set status = 'pending', locked_until = null, available_at = statement_timestamp(), attempts = 0
where ${besides}job.status not in ('pending', 'dead') and job.attempts = 1
  and job.locked_until = job.available_at + ${seconds}::float8 * interval '1 second'`;
}

/** Returns {@link orphanUpdate} for many jobs: `$1` ids, `$2` seconds. */
export function orphanSql(table: string): string {
  return `update ${table} as job ${orphanUpdate("$2", "job.id = any($1::text[]) and ")} returning job.id`;
}
