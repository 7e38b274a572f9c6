import type { Lease } from "../job.ts";

/**
 * Returns a condition that makes the planner look up each row of a list by key. The one-element array prevents a scan of
 * the whole index, which looks cheap while the statistics report an empty table. The comparison with `id || ''` looks selective,
 * which prevents a scan of a bloated table.
 */
export function byKey(list: string): string {
  return `job.id = any(array[${list}.id]) and ${list}.id || '' = ${list}.id`;
}

/**
 * Condition that a lease is valid (JOB-21). `not in` instead of `= 'running'` keeps the planner from reading the whole
 * index of running jobs with its dead entries.
 */
export const HELD: string = `${byKey("lease")} and job.status not in ('pending', 'dead')
    and job.attempts = lease.attempts and job.locked_until = lease.locked_until`;

/** Returns the leases as three lists of parameters. */
export function leaseValues(leases: readonly Lease[]): [string[], number[], string[]] {
  return [
    leases.map((lease) => lease.id),
    leases.map((lease) => lease.attempts),
    leases.map((lease) => lease.lockedUntil),
  ];
}
