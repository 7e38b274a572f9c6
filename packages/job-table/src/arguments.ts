import { refused } from "./errors.ts";
import type { Lease } from "./job.ts";

/** The most jobs that one call queues, reads or retries. */
export const MAX_ROWS = 10_000;
const MAX_ATTEMPTS = 2 ** 31 - 1;
const MOMENT = /^(?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z$/;

/** @throws JobError */
export function checkWhole(name: string, value: unknown, max: number): void {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= max) return;
  throw refused(`${name} must be a whole number from 1 to ${max}`);
}

/**
 * Checks a lease before it is sent, because a server error would abort the caller's transaction.
 *
 * @throws JobError
 */
export function checkLease(lease: Lease): void {
  const { id, attempts, lockedUntil } = (lease ?? {}) as Partial<Lease>;
  if (
    typeof id === "string" &&
    !id.includes("\0") &&
    Number.isInteger(attempts) &&
    Math.abs(attempts as number) <= MAX_ATTEMPTS &&
    typeof lockedUntil === "string" &&
    MOMENT.test(lockedUntil) &&
    // `Date` accepts 30 February, but reads it as a day in March.
    new Date(lockedUntil).getUTCDate() === Number(lockedUntil.slice(8, 10))
  )
    return;
  throw refused("a lease must have the id, attempts and lockedUntil of a claimed job");
}

/** Checks a list of ids to retry, and returns it. @throws JobError */
export function checkedIds(ids: readonly string[]): readonly string[] {
  if (
    !Array.isArray(ids) ||
    ids.length > MAX_ROWS ||
    !ids.every((id) => typeof id === "string" && !id.includes("\0"))
  ) {
    throw refused(`ids must be "all" or a list of at most ${MAX_ROWS} ids`);
  }
  return ids;
}
