import type { Job } from "../job.ts";
import { withPayload } from "../payload.ts";
import { storedCarrier } from "../trace.ts";
import { byKey } from "./by-key.ts";
import { deleteSql } from "./end.ts";

/** The columns of a job that every claiming statement returns. */
export interface JobRow extends Record<string, unknown> {
  readonly id: string;
  readonly task: string | null;
  /** In a claim: the text of the payload, so that a driver does not round its numbers (JOB-33). */
  readonly payload: unknown;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly request_id: string | null;
  readonly tenant_id: string | null;
  readonly trace: unknown;
}

/** A row of a claim: a job, or with `spent` a job whose last lease expired and which is now dead (JOB-22). */
export interface ClaimedRow extends JobRow {
  readonly task: string;
  readonly lease: string | null;
  readonly available_ms: number;
  readonly waited_ms: number;
  readonly spent: boolean;
  /** Milliseconds that the server took up to this point. */
  readonly took_ms: number;
  /** Pages and rows of the table at its last vacuum or analyse, if asked for; 0 and -1: never. */
  readonly relpages?: number | null;
  readonly reltuples?: number | null;
}

/** The stored error of a job whose lease expired on every attempt. */
export const EXHAUSTED = "lease expired on the last attempt";

/** The most exhausted jobs that one statement marks as dead. */
export const MAX_SPENT = 100;
// Incrementing must not overflow: one row at the largest integer would block all claims.
const MAX_COUNT = 2 ** 31 - 2;
export const NOW: string = "statement_timestamp()";
export const TOOK: string = `date_part('epoch', clock_timestamp() - ${NOW}) * 1000 as took_ms`;
const UTC_TEXT = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;

// Cast for drivers that return a bigint as text; `date_part`, because an infinite timestamp cannot be subtracted.
export const returned = (
  spent: boolean,
): string => `job.id, job.task, job.payload::text as payload, job.attempts::int, job.max_attempts::int, job.request_id,
    job.tenant_id, job.trace, to_char(job.locked_until at time zone 'UTC', ${UTC_TEXT}) as lease,
    date_part('epoch', job.available_at) * 1000 as available_ms,
    (date_part('epoch', ${NOW}) - date_part('epoch', job.available_at)) * 1000 as waited_ms, ${String(spent)} as spent`;

const take = `set status = 'running', attempts = least(job.attempts, ${MAX_COUNT}) + 1, locked_until = ${NOW} + $2::float8 * interval '1 second'`;

/**
 * Returns a condition that is false after `ms` of waiting: the sender has then given up and would not see its jobs. For
 * sessions without their own `statement_timeout`.
 */
function promptly(ms: number | undefined): string {
  if (ms === undefined) return "";
  // `now()` is the arrival of the first message; the statement's own time is taken again after waiting for table locks.
  return ` and clock_timestamp() < now() + interval '${Math.max(1, Math.floor(ms))} milliseconds'`;
}

/**
 * Returns the contract's claim (JOB-4, JOB-5, JOB-16): due pending jobs and jobs with expired leases, in the order of
 * `available_at`. `$1` number of jobs, `$2` lease in seconds. It finds the locked rows again by key instead of ctid,
 * because a locked row may be a newer version that the statement's snapshot does not see.
 */
export function claimSql(table: string): string {
  return claimWith(table, { pending: "", expired: "", spent: "" });
}

/** Returns the same claim with the planner's statistics of the table; `$3` is its name. */
export function measuredClaimSql(table: string): string {
  return claimWith(table, { pending: "", expired: "", spent: "", isMeasured: true });
}

/**
 * Returns a claim of pending jobs from `$3` on, in milliseconds since the epoch. It looks at earlier jobs and expired
 * leases only when it finds fewer than `$1`.
 */
export function steppingClaimSql(table: string): string {
  const from = "to_timestamp($3::float8 / 1000)";
  const tooFew = " and (select count(*) from pending) < $1::int";
  const pending = ` and available_at >= ${from}`;
  const earlier = ` and available_at < ${from}${tooFew}`;
  return claimWith(table, { pending, earlier, expired: tooFew, spent: tooFew });
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
update ${table} as job ${take}
from due where ${byKey("due")}
returning ${returned(false)}, ${TOOK}`;
}

/** Extra conditions for each kind of row, and whether to add statistics. */
interface Besides {
  readonly pending: string;
  readonly earlier?: string;
  readonly expired: string;
  readonly spent: string;
  readonly isMeasured?: boolean;
}

function claimWith(table: string, { pending, earlier, expired, spent, isMeasured }: Besides): string {
  const due = (name: string, besides: string): string => `${name} as materialized (
  select id, available_at from ${table} where status = 'pending' and available_at <= ${NOW}${besides}
  order by available_at limit $1::int for update skip locked
)`;
  const kinds = earlier === undefined ? ["pending", "expired"] : ["pending", "earlier", "expired"];
  return `with ${due("pending", pending)}${earlier === undefined ? "" : `, ${due("earlier", earlier)}`}, expired as materialized (
  select id, available_at from ${table}
  where status = 'running' and locked_until < ${NOW} and attempts < max_attempts${expired}
  order by available_at limit $1::int for update skip locked
), spent as materialized (
  select id from ${table} where status = 'running' and locked_until < ${NOW} and attempts >= max_attempts${spent}
  limit ${MAX_SPENT} for update skip locked
), buried as (
  update ${table} as job set status = 'dead', locked_until = null, last_error = '${EXHAUSTED}'
  from spent where ${byKey("spent")}
  returning ${returned(true)}
), claimed as (
  update ${table} as job ${take}
  from (
    select id from (${kinds.map((kind) => `select * from ${kind}`).join(" union all ")}) as all_kinds
    order by available_at limit $1::int
  ) as due where ${byKey("due")}
  returning ${returned(false)}
)
select both_kinds.*, ${isMeasured === true ? "relpages, reltuples, " : ""}${TOOK}
from (select * from claimed union all select * from buried) as both_kinds
${isMeasured === true ? "left join pg_catalog.pg_class as known on known.oid = to_regclass($3::text) " : ""}order by available_ms`;
}

/** A row of a worker's claim: a job, or a row without task that reports the deleted jobs. */
export interface HotRow extends JobRow {
  readonly available_ms: number;
  readonly lease: string;
}

/** The largest number of jobs that the shorter statement claims. */
export const FEW = 10;

const hotColumns = `job.id, job.task, job.payload::text as payload, job.attempts::int, job.max_attempts::int, job.request_id, job.tenant_id,
    job.trace, date_part('epoch', job.available_at) * 1000 as available_ms`;

// Locked rows keep their ctid, so it finds them again. The due condition is repeated in a form that matches no index: a
// plan made for an empty table must not read all due rows.
const hotUpdate = (table: string, inTimeMs: number | undefined): string => `update ${table} as job ${take}
  where ctid = any(array(
    select ctid from ${table}
    where status = 'pending' and available_at <= ${NOW} and available_at >= to_timestamp($3::float8 / 1000)${promptly(inTimeMs)}
    order by available_at limit $1::int for update skip locked
  )) and job.status not in ('running', 'dead') and job.available_at - interval '0' <= ${NOW}`;

/**
 * Returns a worker's frequent claim (JOB-25): only pending jobs from `$3` on, in milliseconds since the epoch, which
 * steps over claimed rows that old snapshots keep. Unordered, and short, because starting a statement costs more than
 * one job.
 */
export function fewClaimSql(table: string, inTimeMs?: number): string {
  return `${hotUpdate(table, inTimeMs)}
  returning ${hotColumns}, to_char(job.locked_until at time zone 'UTC', ${UTC_TEXT}) as lease`;
}

/**
 * Returns the same claim for many jobs, with the common lease formatted once. With `acked` it also deletes finished
 * jobs (leases in `$4` to `$7`), which saves a commit. In the last row, `attempts` is the number of
 * leases that were still held, and `payload` lists the ids of their jobs unless all were held.
 */
export function hotClaimSql(table: string, acked: boolean, inTimeMs?: number): string {
  const deleted = acked ? `, acked as (${deleteSql(table, 4)})` : "";
  const counted = `
union all select null, null, case when count(*) < cardinality($4::text[]) then to_jsonb(array_agg(id))::text end,
  count(*)::int, null, null, null, null, null, null from acked`;
  return `with claimed as (
  ${hotUpdate(table, inTimeMs)}
  returning ${hotColumns}, job.locked_until
)${deleted}
select id, task, payload, attempts, max_attempts, request_id, tenant_id, trace, available_ms,
  (select to_char(locked_until at time zone 'UTC', ${UTC_TEXT}) from claimed limit 1) as lease
from claimed${acked ? counted : ""} order by available_ms`;
}

/** @param nowMs the time of the claim by the server's clock */
export function hotJobOf(row: HotRow, nowMs: number): Job {
  return claimedJob(row, nowMs - row.available_ms);
}

export function jobOf(row: ClaimedRow): Job {
  return claimedJob(row, row.waited_ms);
}

function claimedJob(row: HotRow | ClaimedRow, waitedMs: number): Job {
  const job = {
    id: row.id,
    task: row.task ?? "",
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    requestId: row.request_id ?? undefined,
    tenantId: row.tenant_id ?? undefined,
    trace: storedCarrier(row.trace),
    lockedUntil: row.lease ?? "",
    waitedMs: Math.max(0, waitedMs),
  };
  return withPayload(job, row.payload);
}
