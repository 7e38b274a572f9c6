import type { Lease } from "../job.ts";
import { HELD } from "./lease-fence.ts";

/**
 * Returns the statement that deletes jobs by their leases (JOB-7) and returns the ids whose leases were valid. The
 * leases are four list parameters, starting at `$first` ({@link deleteValues}). Leases of one claim share an expiry
 * time, which is sent and parsed once.
 */
export function deleteSql(table: string, first: number): string {
  const held = HELD.replace("lease.locked_until", `($${first + 3}::timestamptz[])[lease.moment]`);
  return `delete from ${table} as job
    using unnest($${first}::text[], $${first + 1}::int[], $${first + 2}::int[]) as lease (id, attempts, moment)
    where ${held} returning job.id`;
}

/** Returns ids, attempts, the index of each lease's expiry time, and the distinct expiry times. */
export function deleteValues(leases: readonly Lease[]): [string[], number[], number[], string[]] {
  const moments: string[] = [];
  const indexes = leases.map(({ lockedUntil }) => {
    if (moments.at(-1) === lockedUntil) return moments.length;
    const at = moments.indexOf(lockedUntil);
    return at >= 0 ? at + 1 : moments.push(lockedUntil);
  });
  return [leases.map(({ id }) => id), leases.map(({ attempts }) => attempts), indexes, moments];
}
