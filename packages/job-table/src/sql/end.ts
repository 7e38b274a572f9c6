import type { Lease } from "../job.ts";
import { byKey } from "./by-key.ts";

/**
 * The condition that the caller's lease on a job is valid (JOB-21). `not in` instead of `= 'running'` keeps the planner
 * from reading the whole index of running jobs, with its dead entries, to find a few keys.
 */
const HELD = `${byKey("lease")} and job.status not in ('pending', 'dead')
    and job.attempts = lease.attempts and job.locked_until = lease.locked_until`;

/**
 * Returns the statement that deletes jobs by their leases, in four lists from `$first` on ({@link deleteValues}); it
 * returns the ids of valid leases. Leases of one claim share their end, which is sent and parsed once.
 */
export function deleteSql(table: string, first: number): string {
  const held = HELD.replace("lease.locked_until", `($${first + 3}::timestamptz[])[lease.moment]`);
  return `delete from ${table} as job
    using unnest($${first}::text[], $${first + 1}::int[], $${first + 2}::int[]) as lease (id, attempts, moment)
    where ${held} returning job.id`;
}

/** Returns ids, attempts, the index of each lease's end, and the distinct ends. */
export function deleteValues(leases: readonly Lease[]): [string[], number[], number[], string[]] {
  const moments: string[] = [];
  const places = leases.map(({ lockedUntil }) => {
    if (moments.at(-1) === lockedUntil) return moments.length;
    const at = moments.indexOf(lockedUntil);
    return at >= 0 ? at + 1 : moments.push(lockedUntil);
  });
  return [leases.map(({ id }) => id), leases.map(({ attempts }) => attempts), places, moments];
}

/** Returns the leases as three parameter lists. */
export function leaseValues(leases: readonly Lease[]): [string[], number[], string[]] {
  return [
    leases.map((lease) => lease.id),
    leases.map((lease) => lease.attempts),
    leases.map((lease) => lease.lockedUntil),
  ];
}

/**
 * Returns the statement for failed jobs (JOB-8, JOB-9): delays them by min(2 x 2^(attempts - 1), 300) seconds or marks
 * them as dead. `$4` stored errors, `$5` whether to mark as dead at once.
 */
export function failSql(table: string): string {
  const dead = "lease.bury or job.attempts >= job.max_attempts";
  return `update ${table} as job set
  status = case when ${dead} then 'dead' else 'pending' end,
  locked_until = null,
  available_at = case when ${dead} then job.available_at
    else statement_timestamp() + least(2 * power(2, greatest(least(job.attempts, 10), 1) - 1), 300) * interval '1 second' end,
  last_error = lease.error
from unnest($1::text[], $2::int[], $3::timestamptz[], $4::text[], $5::bool[])
  as lease (id, attempts, locked_until, error, bury)
where ${HELD} returning job.id, job.status`;
}

/**
 * Returns the update that releases a job claimed at its insert when the answer was lost. Only such a lease starts
 * exactly when the job became available; every later claim starts after that.
 *
 * @param seconds the parameter with the length of the lease
 */
export function orphanUpdate(seconds: string, besides = ""): string {
  return `set status = 'pending', locked_until = null, available_at = statement_timestamp(), attempts = 0
where ${besides}job.status not in ('pending', 'dead') and job.attempts = 1
  and job.locked_until = job.available_at + ${seconds}::float8 * interval '1 second'`;
}

/** Returns the same for many jobs: `$1` ids, `$2` seconds. */
export function orphanSql(table: string): string {
  return `update ${table} as job ${orphanUpdate("$2", "job.id = any($1::text[]) and ")} returning job.id`;
}

/** Returns the statement that releases jobs (JOB-11). */
export function releaseSql(table: string): string {
  return `update ${table} as job set status = 'pending', locked_until = null, available_at = statement_timestamp(),
  attempts = greatest(job.attempts - 1, 0)
from unnest($1::text[], $2::int[], $3::timestamptz[]) as lease (id, attempts, locked_until)
where ${HELD} returning job.id`;
}
