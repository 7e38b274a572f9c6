import type { Job } from "../job.ts";
import { withPayload } from "../payload.ts";
import { storedCarrier } from "../trace.ts";
import { byKey } from "./by-key.ts";
import { deleteSql } from "./end.ts";

/** What a row says of its job, whichever statement answers it. */
export interface JobRow extends Record<string, unknown> {
  readonly id: string;
  readonly task: string | null;
  /** Of a claim: its text, so that no driver rounds its numbers (JOB-33). */
  readonly payload: unknown;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly request_id: string | null;
  readonly tenant_id: string | null;
  readonly trace: unknown;
}

/** What a claim answers: a job, or with `spent` one that was found at the end of its last lease and is dead now (JOB-22). */
export interface ClaimedRow extends JobRow {
  readonly task: string;
  readonly lease: string | null;
  readonly available_ms: number;
  readonly waited_ms: number;
  readonly spent: boolean;
  /** What the server needed up to here. */
  readonly took_ms: number;
  /** How many pages and rows the table had when it was last vacuumed or analysed, where that was asked for; 0 and -1: never. */
  readonly relpages?: number | null;
  readonly reltuples?: number | null;
}

/** What is said of a job whose worker was lost every time. */
export const EXHAUSTED = "lease expired on the last attempt";

/** How many of those one statement makes dead. */
export const MAX_SPENT = 100;
// One more is the greatest integer: a row that cannot be counted up must not keep the others from being claimed.
const MAX_COUNT = 2 ** 31 - 2;
export const NOW: string = "statement_timestamp()";
export const TOOK: string = `date_part('epoch', clock_timestamp() - ${NOW}) * 1000 as took_ms`;
const UTC_TEXT = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;

// A driver hands a bigint over as text, and a moment that is infinite cannot be subtracted.
export const returned = (
  spent: boolean,
): string => `job.id, job.task, job.payload::text as payload, job.attempts::int, job.max_attempts::int, job.request_id,
    job.tenant_id, job.trace, to_char(job.locked_until at time zone 'UTC', ${UTC_TEXT}) as lease,
    date_part('epoch', job.available_at) * 1000 as available_ms,
    (date_part('epoch', ${NOW}) - date_part('epoch', job.available_at)) * 1000 as waited_ms, ${String(spent)} as spent`;

const take = `set status = 'running', attempts = least(job.attempts, ${MAX_COUNT}) + 1, locked_until = ${NOW} + $2::float8 * interval '1 second'`;

/**
 * A statement that had to wait takes nothing any more: who sent it has given up, and would not know of its jobs. For sessions
 * that have no `statement_timeout` of their own.
 */
function promptly(ms: number | undefined): string {
  if (ms === undefined) return "";
  // `now()` is the time of its first message; that of the statement is taken anew once its tables were free.
  return ` and clock_timestamp() < now() + interval '${Math.max(1, Math.floor(ms))} milliseconds'`;
}

/**
 * The contract's claim (JOB-4, JOB-5, JOB-16): pending jobs whose time has come, and those whose lease has ended, in the order
 * of `available_at`. `$1` how many, `$2` seconds of the lease. The rows are found again by their key and not by where they lie:
 * what is locked may be a version that the statement does not see, of a row that somebody has just changed.
 */
export function claimSql(table: string): string {
  return claimWith(table, { pending: "", expired: "", spent: "" });
}

/** The same, which tells besides what the planner knows of the table: `$3` its name. */
export function measuredClaimSql(table: string): string {
  return claimWith(table, { pending: "", expired: "", spent: "", isMeasured: true });
}

/**
 * The same, but for pending jobs from `$3` on, in milliseconds since the epoch: only when those are fewer than `$1` it looks at
 * those before them and at ended leases.
 */
export function steppingClaimSql(table: string): string {
  const from = "to_timestamp($3::float8 / 1000)";
  const tooFew = " and (select count(*) from pending) < $1::int";
  const pending = ` and available_at >= ${from}`;
  const earlier = ` and available_at < ${from}${tooFew}`;
  return claimWith(table, { pending, earlier, expired: tooFew, spent: tooFew });
}

/**
 * The same jobs, in no order, and none is made dead: all that is due is gathered from both indexes, page by page, and then
 * sorted. What an old snapshot keeps is read in two thirds of the time so, but all jobs that are due are read too.
 */
export function gatheringClaimSql(table: string): string {
  return sortedClaimSql(table, "status");
}

/**
 * The same once more, from the table itself, front to back: the quickest way through what is kept where little else lies in
 * the table. That it is the table takes words that no index knows.
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

/** What is asked besides of each kind of row, and whether of the table. */
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

/** What a worker's claim in between answers: a job, or without a task what became of finished ones. */
export interface HotRow extends JobRow {
  readonly available_ms: number;
  readonly lease: string;
}

/** Up to so many jobs are claimed by the shorter statement. */
export const FEW = 10;

const hotColumns = `job.id, job.task, job.payload::text as payload, job.attempts::int, job.max_attempts::int, job.request_id, job.tenant_id,
    job.trace, date_part('epoch', job.available_at) * 1000 as available_ms`;

// The rows are found again by where they lie: they are locked, so they stay there. That they are still due is said in words
// that no index knows: a plan that was made for an empty table must not read all that are.
const hotUpdate = (table: string, inTimeMs: number | undefined): string => `update ${table} as job ${take}
  where ctid = any(array(
    select ctid from ${table}
    where status = 'pending' and available_at <= ${NOW} and available_at >= to_timestamp($3::float8 / 1000)${promptly(inTimeMs)}
    order by available_at limit $1::int for update skip locked
  )) and job.status not in ('running', 'dead') and job.available_at - interval '0' <= ${NOW}`;

/**
 * A worker's claim in between (JOB-25): pending jobs alone, from `$3` on, in milliseconds since the epoch. Old snapshots of
 * other sessions keep the rows of claimed jobs from being cleared away; `$3` steps over them. Answers in no order; as short
 * as can be, for a few jobs: to begin with a statement costs more than a job.
 */
export function fewClaimSql(table: string, inTimeMs?: number): string {
  return `${hotUpdate(table, inTimeMs)}
  returning ${hotColumns}, to_char(job.locked_until at time zone 'UTC', ${UTC_TEXT}) as lease`;
}

/**
 * The same for many: a lease is the same for all of them and made into a text once. With `acked` it deletes finished jobs in
 * the same statement, which is one commit instead of two: `$4` to `$7` are their leases. The last row tells in `attempts` how
 * many of them were held, and in `payload` which, where not all were.
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

/** @param nowMs when the claim was, by the clock of the server */
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
