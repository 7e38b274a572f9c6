import { literal } from "../literal.ts";
import type { Definition } from "../definition.ts";
import { boundsSql, monthSql, startSql } from "../zone.ts";

/** A bucket: what one refresh computes. */
export interface Bucket extends Record<string, unknown> {
  /** As the table of totals has it; null for rows of no tenant. */
  readonly tenant: string | null;
  /** The first day of the local month, `YYYY-MM-DD`. */
  readonly month: string;
  /** The first instant of the month and that of the next one, in whole seconds since the epoch: exact in every session. */
  readonly from_s: string;
  readonly to_s: string;
  readonly isolation: string;
}

/** Every lock is a place in memory that all sessions share. */
export const MAX_BUCKETS = 1000;

/** What is locked: the buckets of instants, or months by their first days. */
export type LockBy = "instants" | "months";

/** Who locks a bucket: a refresh all for itself, writers that queue one beside each other. */
export type LockMode = "refresh" | "queue";

const oid = ({ table }: Definition): string => `to_regclass(${literal(table)})::oid::text`;

/** The lock of all buckets: refreshes share it, `rebuildAll` has it for itself. */
export function wholeKey(definition: Definition): string {
  return `hashtextextended(concat_ws(chr(31), 'svc/rollup', ${oid(definition)}), 0)`;
}

const bucketKey = (definition: Definition): string =>
  `hashtextextended(concat_ws(chr(31), 'svc/rollup', ${oid(definition)}, month_text, 't' || tenant), 0)`;

/**
 * Finds the buckets of moments and locks them (ROLL-3), `$1` tenants and `$2` instants or months; in the order of tenant and
 * month, so that no two that lock several wait for each other in a ring. A statement of its own: what is read after it sees
 * all that was committed while it waited.
 *
 * The setting lives as long as the transaction. Where the next statement does not find it there was none.
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

/** The month of the local date may be that before the bucket's or after it: where clocks go back across midnight. */
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

/** Left out of what is answered: a lock is nothing to read. */
function locks(definition: Definition, mode: LockMode): string {
  const shared = mode === "queue" ? "_shared" : "";
  const whole = mode === "queue" ? "" : `pg_advisory_xact_lock_shared(${wholeKey(definition)})::text, `;
  return `, concat(${whole}pg_advisory_xact_lock${shared}(${bucketKey(definition)})::text, set_config('svc.rollup', 'on', true)) as locked`;
}
