import { EXHAUSTED, NOW, returned, TOOK } from "./claimed-row.ts";
import { byKey } from "./lease-fence.ts";

/** Maximum number of expired leases that {@link recoverSql} recovers. */
export const MAX_RECOVERED = 1000;
/** Maximum number of jobs that {@link deadLetterSql} marks as dead. */
export const MAX_DEAD = 100;

export interface RecoveredRow extends Record<string, unknown> {
  /** Number of expired leases that were found and not locked by another session. */
  readonly ended: number;
  /** Number of these leases on a last attempt; {@link deadLetterSql} marks their jobs as dead. */
  readonly exhausted: number;
  /** Latest expiry time among these leases, in epoch ms; null if there are none. */
  readonly reached_ms: number | null;
  /** Whether any lease had expired, including those locked by other sessions. */
  readonly any: boolean;
  /** Milliseconds until the next lease expires or the next job becomes due; null if that is after `$2`. */
  readonly next_ms: number | null;
  /** Whether a pending job is due, not counting the recovered ones. */
  readonly due: boolean;
  readonly took_ms: number;
}

export const NOTHING_ENDED: RecoveredRow = {
  ended: 0,
  exhausted: 0,
  reached_ms: null,
  any: false,
  next_ms: null,
  due: false,
  took_ms: 0,
};

/**
 * Returns the statement that recovers expired leases (JOB-16, JOB-34): their jobs become `pending` at their previous
 * position. It skips leases that expired before `$1` (epoch ms), so that it does not read the dead index entries that
 * an earlier batch left. `$2`: how far `next_ms` looks ahead, in ms. The names of the expressions begin with `_svc_`,
 * because an expression hides a table of the same name.
 */
export function recoverSql(table: string): string {
  const running = `from ${table} where status = 'running' and locked_until`;
  const pending = `from ${table} where status = 'pending' and available_at`;
  const since = "to_timestamp($1::float8 / 1000)";
  const horizon = `${NOW} + $2::float8 * interval '1 millisecond'`;
  const msUntil = (column: string, rows: string): string =>
    `(select (date_part('epoch', ${column}) - date_part('epoch', ${NOW})) * 1000
    ${rows} >= ${NOW} and ${column} < ${horizon} order by ${column} limit 1)`;
  return `with _svc_ended as materialized (
  select id, locked_until, attempts >= max_attempts as is_exhausted
  ${running} < ${NOW} and locked_until >= ${since}
  order by locked_until limit ${MAX_RECOVERED} for update skip locked
), _svc_recovered as (
  update ${table} as job set status = 'pending', locked_until = null
  from _svc_ended as ended where ${byKey("ended")} and not ended.is_exhausted
)
select count(*)::int as ended,
  count(*) filter (where is_exhausted)::int as exhausted,
  date_part('epoch', max(locked_until)) * 1000 as reached_ms,
  exists(select ${running} < ${NOW} and locked_until >= ${since}) as any,
  least(${msUntil("locked_until", running)},
    ${msUntil("available_at", pending)}) as next_ms,
  exists(select ${pending} <= ${NOW}) as due,
  ${TOOK}
from _svc_ended as ended`;
}

/** Returns the statement that marks up to {@link MAX_DEAD} jobs whose leases expired on the last attempt as dead (JOB-22). */
export function deadLetterSql(table: string): string {
  return `with _svc_exhausted as materialized (
  select id from ${table} where status = 'running' and locked_until < ${NOW} and attempts >= max_attempts
  limit ${MAX_DEAD} for update skip locked
)
update ${table} as job set status = 'dead', locked_until = null, last_error = '${EXHAUSTED}'
from _svc_exhausted as exhausted where ${byKey("exhausted")}
returning ${returned(true)}, ${TOOK}`;
}
