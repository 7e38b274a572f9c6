import { EXHAUSTED, NOW, returned, TAKE, TOOK } from "./claimed-row.ts";
import { byKey } from "./lease-fence.ts";

/** Maximum number of exhausted jobs that one statement marks as dead. */
export const MAX_EXHAUSTED = 100;

/**
 * Returns the contract's claim (JOB-4, JOB-5, JOB-16) of `$1` jobs for `$2` seconds. It finds locked rows again by key
 * instead of ctid, because they may have newer versions that the statement's snapshot does not see.
 */
export function claimSql(table: string): string {
  return wholeClaim(table, "", "");
}

/** Returns {@link claimSql} with columns for the planner's statistics about the table, whose name is `$3`. */
export function measuredClaimSql(table: string): string {
  const join = "left join pg_catalog.pg_class as known on known.oid = to_regclass($3::text)";
  return wholeClaim(table, "relpages, reltuples, ", join);
}

function wholeClaim(table: string, columns: string, join: string): string {
  return `with _svc_pending as materialized (
  select id, available_at from ${table} where status = 'pending' and available_at <= ${NOW}
  order by available_at limit $1::int for update skip locked
), _svc_expired as materialized (
  select id, available_at from ${table} where status = 'running' and locked_until < ${NOW} and attempts < max_attempts
  order by available_at limit $1::int for update skip locked
), _svc_exhausted as materialized (
  select id from ${table} where status = 'running' and locked_until < ${NOW} and attempts >= max_attempts
  limit ${MAX_EXHAUSTED} for update skip locked
), ${markedAndClaimed(table, "select * from _svc_pending union all select * from _svc_expired")}
select both_kinds.*, ${columns}${TOOK}
from (select * from _svc_claimed union all select * from _svc_made_dead) as both_kinds
${join} order by available_ms`;
}

/**
 * Returns the statement that claims jobs due at or after `$3` (epoch ms). It considers earlier jobs and expired leases
 * only if it finds fewer than `$1`.
 */
export function steppingClaimSql(table: string): string {
  const from = "to_timestamp($3::float8 / 1000)";
  const tooFew = "(select count(*) from _svc_pending) < $1::int";
  return `with _svc_pending as materialized (
  select id, available_at from ${table} where status = 'pending' and available_at <= ${NOW} and available_at >= ${from}
  order by available_at limit $1::int for update skip locked
), _svc_earlier as materialized (
  select id, available_at from ${table} where status = 'pending' and available_at <= ${NOW} and available_at < ${from} and ${tooFew}
  order by available_at limit $1::int for update skip locked
), _svc_expired as materialized (
  select id, available_at from ${table} where status = 'running' and locked_until < ${NOW} and attempts < max_attempts and ${tooFew}
  order by available_at limit $1::int for update skip locked
), _svc_exhausted as materialized (
  select id from ${table} where status = 'running' and locked_until < ${NOW} and attempts >= max_attempts and ${tooFew}
  limit ${MAX_EXHAUSTED} for update skip locked
), ${markedAndClaimed(table, "select * from _svc_pending union all select * from _svc_earlier union all select * from _svc_expired")}
select both_kinds.*, ${TOOK}
from (select * from _svc_claimed union all select * from _svc_made_dead) as both_kinds
order by available_ms`;
}

/** Returns the `with` clauses that mark the rows in `exhausted` as dead, and claim the first rows in `candidates`. */
function markedAndClaimed(table: string, candidates: string): string {
  return `_svc_made_dead as (
  update ${table} as job set status = 'dead', locked_until = null, last_error = '${EXHAUSTED}'
  from _svc_exhausted as exhausted where ${byKey("exhausted")}
  returning ${returned(true)}
), _svc_claimed as (
  update ${table} as job ${TAKE}
  from (
    select id from (${candidates}) as all_kinds
    order by available_at limit $1::int
  ) as due where ${byKey("due")}
  returning ${returned(false)}
)`;
}

/**
 * Returns a claim that collects all due jobs from both indexes and sorts them. Among old row versions it takes two
 * thirds of the time of {@link claimSql}, but it reads every due job and marks none as dead.
 */
export function gatheringClaimSql(table: string): string {
  return sortedClaimSql(table, "status");
}

/**
 * Returns {@link gatheringClaimSql} with a sequential scan, the fastest method for a small table with old row versions.
 * The expression on `status` matches no index, which forces the scan.
 */
export function readingClaimSql(table: string): string {
  return sortedClaimSql(table, "status || ''");
}

function sortedClaimSql(table: string, status: string): string {
  return `with _svc_due as materialized (
  select id from ${table}
  where (${status} = 'pending' and available_at <= ${NOW})
    or (${status} = 'running' and locked_until < ${NOW} and attempts < max_attempts)
  order by available_at limit $1::int for update skip locked
)
update ${table} as job ${TAKE}
from _svc_due as due where ${byKey("due")}
returning ${returned(false)}, ${TOOK}`;
}
