import { MAX_ERROR_LENGTH } from "@svc/job-table";
import type { EventEnvelope } from "../envelope.ts";

const NOW = "statement_timestamp()";
const UTC_TEXT = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;
/** The error that is stored with a row whose lease expired on its last attempt. */
export const LEASE_EXPIRED = "lease expired on the last attempt";
const MAX_EXHAUSTED = 100;

// Condition for rows that are found by id. With `status = 'pending'`, the planner might use the index of pending rows,
// which also contains the id, and read all of it.
const WAITING = "status not in ('published', 'dead')";

/** A statement and its parameters. */
export interface Query {
  readonly text: string;
  readonly values: unknown[];
}

/** An event with its topic. */
export interface OutboxEntry {
  readonly topic: string;
  readonly event: EventEnvelope;
}

/** A checked entry, with its envelope as JSON. */
export interface WrittenEntry extends OutboxEntry {
  readonly body: string;
}

/**
 * Returns the statement that stores events. `created_at` is the time of the insert rather than of the transaction's
 * start, because a transaction that starts later may insert first.
 */
export function addSql(table: string, entries: readonly WrittenEntry[]): Query {
  const text = `insert into ${table} (id, kind, destination, payload, message_key, request_id, tenant_id, trace, status,
    attempts, available_at, created_at, published_at, last_error)
  select id, 'event', destination, payload::jsonb, key, request_id, tenant_id, trace::jsonb, 'pending', 0, began.at,
    began.at + n * interval '1 microsecond', null, null
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
    with ordinality as new (id, destination, payload, key, request_id, tenant_id, trace, n)
  cross join (select clock_timestamp() as at offset 0) as began
  order by n
  on conflict (id) do nothing returning id`;
  const events = entries.map(({ event }) => event);
  const values = [
    events.map(({ id }) => id),
    entries.map(({ topic }) => topic),
    entries.map(({ body }) => body),
    events.map(({ key }) => key),
    events.map(({ request_id }) => request_id),
    events.map(({ tenant_id }) => tenant_id),
    events.map(({ trace }) => JSON.stringify(trace)),
  ];
  return { text, values };
}

/** A row claimed by a relay. */
export interface ClaimedRow extends Record<string, unknown> {
  readonly id: string;
  readonly kind: string;
  readonly destination: string;
  /** Null for a payload longer than the relay accepts. */
  readonly payload: string | null;
  readonly message_key: string | null;
  readonly attempts: number;
  readonly lease: string;
  /**
   * 0: claimed. 1: exhausted, marked as dead by this claim. 2: the final row, which holds the key where the scan
   * stopped.
   */
  readonly kind_of_row: 0 | 1 | 2;
}

/**
 * Returns the statement that claims rows (OUT-5). `$1` number of rows, `$2` lease in seconds, `$3` first key, `$4`
 * number of keys to visit, `$5` maximum attempts, `$6` maximum size of a payload in bytes.
 *
 * For each key, the claim looks only at the oldest pending row. When that row is due, the claim takes it together with
 * the due rows after it. A leased or delayed row holds back all later rows with the same key, so relays need no lock
 * per key. The claim walks from key to key in the index with one probe each, regardless of the number of rows of a key.
 *
 * `available_at` is the expiry time of the lease. A statement that changes a row moves `available_at` past the start of
 * every statement that saw the row before the change.
 */
export function claimSql(table: string): string {
  const ready = `status = 'pending' and available_at <= ${NOW}`;
  const found = `${WAITING} and available_at <= ${NOW}`;
  return `with recursive visited (id, key, n) as (
  (select id, message_key, 1 from ${table} where status = 'pending' and message_key >= $3::text
  order by message_key, created_at, id limit 1)
  union all
  select next.id, next.message_key, visited.n + 1 from visited cross join lateral (
    select id, message_key from ${table} where status = 'pending' and message_key > visited.key
    order by message_key, created_at, id limit 1
  ) as next where visited.n < $4::int
), heads as materialized (
  select id, message_key, created_at, attempts from ${table}
  where id = any(array(select id from visited)) and ${found}
  order by created_at, id limit $1::int for update skip locked
), free as materialized (
  select id, created_at, attempts from ${table} where message_key is null and ${ready}
  order by message_key, created_at, id limit $1::int for update skip locked
), behind as materialized (
  select next.id, next.created_at, next.n from heads cross join lateral (
    select id, created_at, row_number() over chain as n,
      bool_and(available_at <= ${NOW} and attempts < $5::int) over chain as ready
    from (
      select id, created_at, available_at, attempts from ${table}
      where status = 'pending' and message_key = heads.message_key
        and (created_at, id) > (heads.created_at, heads.id)
      order by created_at, id limit (select $1::int / greatest(count(*), 1) from heads)
    ) as waiting window chain as (order by created_at, id)
  ) as next where next.ready and heads.attempts < $5::int
), exhausted as (
  select id from (select id, attempts from heads union all select id, attempts from free) as both_kinds
  where attempts >= $5::int limit ${MAX_EXHAUSTED}
), dead_lettered as (
  update ${table} as row set status = 'dead', last_error = '${LEASE_EXPIRED}'
  where id = any(array(select id from exhausted)) and ${found}
  returning row.id, row.attempts
), claimed as (
  update ${table} as row set attempts = row.attempts + 1, available_at = ${NOW} + $2::float8 * interval '1 second'
  where id = any(array(
    select id from (
      select id, created_at, 0 as n from heads where attempts < $5::int
      union all select id, created_at, 0 from free where attempts < $5::int
      union all select id, created_at, n from behind
    ) as all_kinds order by n, created_at limit $1::int
  )) and ${found}
  returning row.id, row.kind, row.destination, row.payload::text as payload, row.message_key, row.attempts,
    row.available_at, row.created_at
)
select id, kind, destination, case when octet_length(payload) <= $6::int then payload end as payload, message_key,
  attempts::int, to_char(available_at at time zone 'UTC', ${UTC_TEXT}) as lease, 0 as kind_of_row, created_at,
  (select max(key) from visited) as last_key, (select count(*)::int from visited) as visited
from claimed
union all
select id, '', '', null, null, attempts::int, '', 1, null, null, 0 from dead_lettered
union all
select '', '', '', null, null, 0, '', 2, null, (select max(key) from visited), (select count(*)::int from visited)
order by kind_of_row, created_at, id`;
}

/** Condition that the caller's lease on a row is still valid. */
const LEASE_IS_VALID = `row.id = lease.id and row.${WAITING} and row.attempts = lease.attempts
    and row.available_at = lease.until`;
const LEASES = "unnest($1::text[], $2::int[], $3::timestamptz[]";

/** Returns the statement that marks rows as published. Its result contains the rows whose lease was still valid. */
export function publishedSql(table: string): string {
  return `update ${table} as row set status = 'published', published_at = ${NOW}, last_error = null
from ${LEASES}) as lease (id, attempts, until) where ${LEASE_IS_VALID} returning row.id`;
}

/**
 * Returns the statement that delays failed rows by min(2^attempts, 300) seconds or marks them as dead. `$4` stored
 * errors, `$5` whether to mark as dead immediately, `$6` maximum attempts, `$7` whether the bus was unavailable; if so,
 * no row exhausts its attempts.
 */
export function failedSql(table: string): string {
  const dead = "lease.is_permanent or (not $7::bool and row.attempts >= $6::int)";
  return `update ${table} as row set
  status = case when ${dead} then 'dead' else 'pending' end,
  attempts = case when $7::bool then least(row.attempts, $6::int - 1) else row.attempts end,
  available_at = ${NOW} + least(power(2, least(row.attempts, 10)), 300) * interval '1 second',
  last_error = left(lease.error, ${MAX_ERROR_LENGTH})
from ${LEASES}, $4::text[], $5::bool[]) as lease (id, attempts, until, error, is_permanent)
where ${LEASE_IS_VALID} returning row.id, row.status`;
}

/** Returns the statement that releases rows without counting the attempt. */
export function releasedSql(table: string): string {
  return `update ${table} as row set attempts = greatest(row.attempts - 1, 0), available_at = ${NOW}
from ${LEASES}) as lease (id, attempts, until) where ${LEASE_IS_VALID} returning row.id`;
}

/** Returns the statement that deletes at most `$2` events that were published more than `$1` days ago. */
export function purgeSql(table: string): string {
  return `delete from ${table} where id = any(array(
  select id from ${table} where status = 'published' and published_at < ${NOW} - $1::float8 * interval '1 day'
  order by published_at limit $2::int for update skip locked
)) returning id`;
}

export function deadSql(table: string): string {
  return `select id, destination, payload, attempts::int, last_error, date_part('epoch', created_at) * 1000 as created_ms
from ${table} where status = 'dead' order by created_at desc, id limit $1::int`;
}

/** Returns the statement that makes dead events pending. `$1`: their ids, or null for all. */
export function retrySql(table: string): string {
  return `update ${table} set status = 'pending', attempts = 0, available_at = ${NOW}, last_error = null
where status = 'dead' and ($1::text[] is null or id = any($1::text[])) returning id`;
}

export function statsSql(table: string): string {
  return `select count(*) filter (where status = 'pending')::float8 as pending,
  count(*) filter (where status = 'published')::float8 as published,
  count(*) filter (where status = 'dead')::float8 as dead from ${table}`;
}

/** Returns the statement that reads the state for the readiness check in one row, without reading published rows. */
export function stateSql(table: string): string {
  return `select (select count(*)::float8 from ${table} where status = 'dead') as dead, waiting.*,
  (select left(last_error, 300) from ${table} where status = 'pending' and last_error is not null
  order by created_at limit 1) as error
from (
  select count(*)::float8 as pending, count(*) filter (where last_error is not null)::float8 as failing,
    coalesce(date_part('epoch', ${NOW}) - date_part('epoch', min(created_at)), 0) as oldest_seconds
  from ${table} where status = 'pending'
) as waiting`;
}
