import { literal } from "@svc/sql";
import type { Definition } from "../definition.ts";
import { boundsSql, monthSql, startSql } from "../zone.ts";

/** A bucket: one local month of one tenant, the unit of a refresh. */
export interface Bucket extends Record<string, unknown> {
  /** The tenant as stored in the totals; null for rows without a tenant. */
  readonly tenant: string | null;
  /** First day of the local month, `YYYY-MM-DD`. */
  readonly month: string;
  /** First instant of the month and of the next one, in whole seconds since the epoch, so that no setting affects them. */
  readonly from_s: string;
  readonly to_s: string;
  readonly isolation: string;
}

/** Maximum number of buckets per call, because every lock takes a slot of the server's shared memory. */
export const MAX_BUCKETS = 1000;

/** The way in which a caller identifies buckets: by instants in them, or by the first days of their months. */
export type LockBy = "instants" | "months";

/**
 * Lock mode: `refresh` locks the bucket exclusively; `queue` shares the lock with other writers that queue a refresh.
 */
export type LockMode = "refresh" | "queue";

const oid = ({ table }: Definition): string => `to_regclass(${literal(table)})::oid::text`;

/** Returns the lock key of all buckets: refreshes share this lock, `rebuildAll` takes it exclusively. */
export function wholeKey(definition: Definition): string {
  return `hashtextextended(concat_ws(chr(31), 'svc/rollup', ${oid(definition)}), 0)`;
}

const bucketKey = (definition: Definition): string =>
  `hashtextextended(concat_ws(chr(31), 'svc/rollup', ${oid(definition)}, month_text, 't' || tenant), 0)`;

/**
 * Returns the statement that finds and locks the bucket of each tenant and instant (ROLL-3): `$1` tenants, `$2`
 * instants or months. It locks in the order of tenant and month, which prevents deadlocks. It is separate from the
 * statement that reads, so that the latter sees everything that was committed during the wait.
 *
 * It also sets a transaction-local setting. If the next statement does not find that setting, no transaction was open.
 */
export function lockSql(definition: Definition, mode: LockMode, by: LockBy): string {
  return `with ${by === "instants" ? placedSql(definition.zone) : MONTHS}, ranged as materialized (
  select tenant, month, month + interval '1 month' as next, to_char(month, 'YYYY-MM-DD') as month_text from placed
), bucket as materialized (
  select tenant, month_text, ${boundsSql("month", "next", definition.zone, ["starts", "ends"])} from ranged
  order by tenant collate "C" nulls first, month limit ${MAX_BUCKETS + 1}
)
select tenant, month_text as month, extract(epoch from starts)::bigint::text as from_s, extract(epoch from ends)::bigint::text as to_s,
  current_setting('transaction_isolation') as isolation${locks(definition, mode)}
from bucket`;
}

const MONTHS = `placed as materialized (
  select tenant, month::timestamp from unnest($1::text[], $2::date[]) as asked (tenant, month)
)`;

/**
 * Returns the CTEs that compute the bucket months of the given tenants and instants. They start from the month of the
 * local date and correct it, because around a clock change across midnight an instant may belong to the month before or
 * after.
 */
function placedSql(zone: string): string {
  const start = (month: string): string => startSql(month, zone);
  return `asked as materialized (
  select tenant, at, date_trunc('month', at at time zone ${literal(zone)}) as guess
  from unnest($1::text[], $2::timestamptz[]) as asked (tenant, at)
), guessed as materialized (
  select tenant, at, guess, guess + interval '1 month' as next from asked
), placed as materialized (
  select distinct tenant, ${monthSql("at", "guess", start("guess"), start("next"))} as month from guessed
)`;
}

/** Returns the column expression that takes the locks; callers ignore its value. */
function locks(definition: Definition, mode: LockMode): string {
  const shared = mode === "queue" ? "_shared" : "";
  const whole = mode === "queue" ? "" : `pg_advisory_xact_lock_shared(${wholeKey(definition)})::text, `;
  return `, concat(${whole}pg_advisory_xact_lock${shared}(${bucketKey(definition)})::text, set_config('svc.rollup', 'on', true)) as locked`;
}
