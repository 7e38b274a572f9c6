import { byKey } from "./by-key.ts";
import { EXHAUSTED, NOW, returned, TOOK } from "./claim.ts";

/** How many leases one statement recovers, and how many jobs one makes dead: it answers those with their payloads. */
export const MAX_RECOVERED = 1000;
export const MAX_DEAD = 100;

/** What a worker learns while it recovers leases that have ended. */
export interface RecoveredRow extends Record<string, unknown> {
  /** How many ended leases were found and not locked by another session. */
  readonly ended: number;
  /** How many of those were on the last attempt. {@link deadLetterSql} makes them dead. */
  readonly exhausted: number;
  /** End of the last one of them, in milliseconds since the epoch; null: there was none. */
  readonly reached_ms: number | null;
  /** Whether any had ended when the statement began, those that other sessions hold locked among them. */
  readonly any: boolean;
  /** Milliseconds until the next lease ends, if that is within a second. */
  readonly next_ms: number | null;
  /** Whether a pending job may be claimed; those that were recovered just now are not counted. */
  readonly due: boolean;
  /** Milliseconds that the server needed. */
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
 * Recovers leases that have ended (JOB-16, JOB-34): their jobs are `pending` as before that claim, in their old place of the order.
 * `$1`: leases that ended before, in milliseconds since the epoch, are left out: the entries that a batch leaves behind in the index
 * are not read again by the next one.
 */
export function recoverSql(table: string): string {
  const running = `from ${table} where status = 'running' and locked_until`;
  const since = "to_timestamp($1::float8 / 1000)";
  return `with ended as materialized (
  select id, locked_until, attempts >= max_attempts as is_exhausted
  ${running} < ${NOW} and locked_until >= ${since}
  order by locked_until limit ${MAX_RECOVERED} for update skip locked
), recovered as (
  update ${table} as job set status = 'pending', locked_until = null
  from ended where ${byKey("ended")} and not ended.is_exhausted
)
select count(*)::int as ended,
  count(*) filter (where is_exhausted)::int as exhausted,
  date_part('epoch', max(locked_until)) * 1000 as reached_ms,
  exists(select ${running} < ${NOW} and locked_until >= ${since}) as any,
  (select (date_part('epoch', locked_until) - date_part('epoch', ${NOW})) * 1000
    ${running} >= ${NOW} and locked_until < ${NOW} + interval '1 second' order by locked_until limit 1) as next_ms,
  exists(select from ${table} where status = 'pending' and available_at <= ${NOW}) as due,
  ${TOOK}
from ended`;
}

/** Makes jobs dead whose lease has ended on the last attempt (JOB-22), at most {@link MAX_DEAD}, and answers them. */
export function deadLetterSql(table: string): string {
  return `with exhausted as materialized (
  select id from ${table} where status = 'running' and locked_until < ${NOW} and attempts >= max_attempts
  limit ${MAX_DEAD} for update skip locked
)
update ${table} as job set status = 'dead', locked_until = null, last_error = '${EXHAUSTED}'
from exhausted where ${byKey("exhausted")}
returning ${returned(true)}, ${TOOK}`;
}
