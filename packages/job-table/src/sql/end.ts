import type { Lease } from "../job.ts";
import { byKey } from "./by-key.ts";

/**
 * Whether a row is still held by a lease (JOB-21). The words for its being `running` keep the planner from the index of the
 * running ones: it would read all of them, and what is left of those that ran, to find a few by their key.
 */
const HELD = `${byKey("lease")} and job.status not in ('pending', 'dead')
    and job.attempts = lease.attempts and job.locked_until = lease.locked_until`;

/**
 * Deletes jobs by their leases, in four lists from `$first` on ({@link deleteValues}), and answers the ids of those that were
 * held. Leases of one claim end at one moment: it is sent, and read, once.
 */
export function deleteSql(table: string, first: number): string {
  const held = HELD.replace("lease.locked_until", `($${first + 3}::timestamptz[])[lease.moment]`);
  return `delete from ${table} as job
    using unnest($${first}::text[], $${first + 1}::int[], $${first + 2}::int[]) as lease (id, attempts, moment)
    where ${held} returning job.id`;
}

/** Ids, attempts, for each lease which of the moments is its end, and the moments. */
export function deleteValues(leases: readonly Lease[]): [string[], number[], number[], string[]] {
  const moments: string[] = [];
  const places = leases.map(({ lockedUntil }) => {
    if (moments.at(-1) === lockedUntil) return moments.length;
    const at = moments.indexOf(lockedUntil);
    return at >= 0 ? at + 1 : moments.push(lockedUntil);
  });
  return [leases.map(({ id }) => id), leases.map(({ attempts }) => attempts), places, moments];
}

/** The three lists of leases, as parameters. */
export function leaseValues(leases: readonly Lease[]): [string[], number[], string[]] {
  return [
    leases.map((lease) => lease.id),
    leases.map((lease) => lease.attempts),
    leases.map((lease) => lease.lockedUntil),
  ];
}

/**
 * Failed jobs (JOB-8, JOB-9): again after min(2 x 2^(attempts - 1), 300) seconds, or dead. `$4` what is kept of their errors,
 * `$5` whether they are dead at once.
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
 * Gives back what was claimed as it was queued by a statement whose answer was lost: nobody else knows of it. Of so many seconds,
 * such a lease alone begins when its job became available; whoever claims one later does so after that.
 *
 * @param seconds the parameter with those
 */
export function orphanUpdate(seconds: string, besides = ""): string {
  return `set status = 'pending', locked_until = null, available_at = statement_timestamp(), attempts = 0
where ${besides}job.status not in ('pending', 'dead') and job.attempts = 1
  and job.locked_until = job.available_at + ${seconds}::float8 * interval '1 second'`;
}

/** The same for many: `$1` their ids, `$2` the seconds. */
export function orphanSql(table: string): string {
  return `update ${table} as job ${orphanUpdate("$2", "job.id = any($1::text[]) and ")} returning job.id`;
}

/** Jobs that are given back (JOB-11). */
export function releaseSql(table: string): string {
  return `update ${table} as job set status = 'pending', locked_until = null, available_at = statement_timestamp(),
  attempts = greatest(job.attempts - 1, 0)
from unnest($1::text[], $2::int[], $3::timestamptz[]) as lease (id, attempts, locked_until)
where ${HELD} returning job.id`;
}
