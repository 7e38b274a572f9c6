import { EXHAUSTED, NOW, returned, TAKE, TOOK } from "./claimed-row.ts";
import { byKey } from "./leases.ts";

/** The most exhausted jobs that one statement marks as dead. */
export const MAX_SPENT = 100;

/**
 * Returns the contract's claim (JOB-4, JOB-5, JOB-16): due pending jobs and jobs with expired leases, in the order of
 * `available_at`. `$1` number of jobs, `$2` lease in seconds. It finds the locked rows again by key instead of ctid,
 * because a locked row may be a newer version that the statement's snapshot does not see.
 */
export function claimSql(table: string): string {
  return wholeClaim(table, "", "");
}

/** Returns the same claim with the planner's statistics of the table; `$3` is its name. */
export function measuredClaimSql(table: string): string {
  const join = "left join pg_catalog.pg_class as known on known.oid = to_regclass($3::text)";
  return wholeClaim(table, "relpages, reltuples, ", join);
}

function wholeClaim(table: string, columns: string, join: string): string {
  return `with pending as materialized (
  select id, available_at from ${table} where status = 'pending' and available_at <= ${NOW}
  order by available_at limit $1::int for update skip locked
), expired as materialized (
  select id, available_at from ${table} where status = 'running' and locked_until < ${NOW} and attempts < max_attempts
  order by available_at limit $1::int for update skip locked
), spent as materialized (
  select id from ${table} where status = 'running' and locked_until < ${NOW} and attempts >= max_attempts
  limit ${MAX_SPENT} for update skip locked
), ${markedAndClaimed(table, "select * from pending union all select * from expired")}
select both_kinds.*, ${columns}${TOOK}
from (select * from claimed union all select * from buried) as both_kinds
${join} order by available_ms`;
}

/**
 * Returns a claim of pending jobs from `$3` on, in milliseconds since the epoch. It looks at earlier jobs and expired
 * leases only when it finds fewer than `$1`.
 */
export function steppingClaimSql(table: string): string {
  const from = "to_timestamp($3::float8 / 1000)";
  const tooFew = "(select count(*) from pending) < $1::int";
  return `with pending as materialized (
  select id, available_at from ${table} where status = 'pending' and available_at <= ${NOW} and available_at >= ${from}
  order by available_at limit $1::int for update skip locked
), earlier as materialized (
  select id, available_at from ${table} where status = 'pending' and available_at <= ${NOW} and available_at < ${from} and ${tooFew}
  order by available_at limit $1::int for update skip locked
), expired as materialized (
  select id, available_at from ${table} where status = 'running' and locked_until < ${NOW} and attempts < max_attempts and ${tooFew}
  order by available_at limit $1::int for update skip locked
), spent as materialized (
  select id from ${table} where status = 'running' and locked_until < ${NOW} and attempts >= max_attempts and ${tooFew}
  limit ${MAX_SPENT} for update skip locked
), ${markedAndClaimed(table, "select * from pending union all select * from earlier union all select * from expired")}
select both_kinds.*, ${TOOK}
from (select * from claimed union all select * from buried) as both_kinds
order by available_ms`;
}

/** Marks the rows of `spent` as dead, and claims the first ones of `candidates`. */
function markedAndClaimed(table: string, candidates: string): string {
  return `buried as (
  update ${table} as job set status = 'dead', locked_until = null, last_error = '${EXHAUSTED}'
  from spent where ${byKey("spent")}
  returning ${returned(true)}
), claimed as (
  update ${table} as job ${TAKE}
  from (
    select id from (${candidates}) as all_kinds
    order by available_at limit $1::int
  ) as due where ${byKey("due")}
  returning ${returned(false)}
)`;
}

/**
 * Returns a claim that collects all due jobs from both indexes page by page and sorts them; it marks none as dead. With
 * old row versions in the way it reads them in two thirds of the time, but it reads every due job.
 */
export function gatheringClaimSql(table: string): string {
  return sortedClaimSql(table, "status");
}

/**
 * Returns the same claim with a sequential scan, the fastest way past old row versions in a small table. The expression
 * on `status` matches no index and so forces the scan.
 */
export function readingClaimSql(table: string): string {
  return sortedClaimSql(table, "status || ''");
}

function sortedClaimSql(table: string, status: string): string {
  return `with due as materialized (
  select id from ${table}
  where (${status} = 'pending' and available_at <= ${NOW})
    or (${status} = 'running' and locked_until < ${NOW} and attempts < max_attempts)
  order by available_at limit $1::int for update skip locked
)
update ${table} as job ${TAKE}
from due where ${byKey("due")}
returning ${returned(false)}, ${TOOK}`;
}
