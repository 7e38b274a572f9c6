import type { RotationTimes } from "../arguments.ts";
import type { RevocableToken, Rotation } from "@svc/context";
import { began, instant, interval, keyOf, nonceOf } from "./marks.ts";

// The statements have no parameters, so several of them travel as one simple query: one round trip and one transaction that
// the server ends itself. No transaction stays open, and a pooler in transaction mode works.
//
// Only the row of a used token has a nonce. Meaning of `deadline`: for a used token, the end of its grace window; for a
// subject, the time before which sessions are revoked; `-infinity` for a revoked token; null for a family.

/**
 * Column that states whether the statement runs inside the caller's transaction, which the caller could roll
 * back.
 */
const NESTED = "now() <> statement_timestamp() as nested";

// The value is an integer, because a low `extra_float_digits` would truncate a float.
const SERVER_MS = "floor(extract(epoch from clock_timestamp()) * 1000)::bigint as server_ms";

/** Condition for a row that has not expired. Expired rows count as absent even before they are deleted. */
const LIVES = "expires_at > statement_timestamp()";

/** Returns the query that checks whether the token, its family or its subject is revoked. */
export function isRevokedSql(table: string, { jti, fam, sub, signedInAt }: RevocableToken): string {
  const subject = keyOf("sub", sub);
  const keys = [subject];
  if (jti !== undefined) keys.push(keyOf("jti", jti));
  if (fam !== undefined) keys.push(keyOf("fam", fam));
  return `select exists (${revoked(table, keys, subject, signedInAt)}) as revoked`;
}

function revoked(table: string, keys: readonly string[], subject: string, signedInAt: number): string {
  return `select from ${table} where key in (${keys.join(", ")}) and ${LIVES} and nonce is null
  and (key <> ${subject} or deadline > ${began(signedInAt)})`;
}

/**
 * Returns the statement that rotates a refresh token. It locks only the row that it inserts:
 *
 * - Of several concurrent requests with the same token, the unique index lets only one insert its row. The others wait and
 *   then read that row: `do update` returns it although it is newer than their snapshot; `do nothing` would not.
 * - A logout during the statement revokes the family, and so every token that the rotation issues.
 * - A token that was used before is only read, so later requests with it write nothing.
 * - A statement that the server starts after `latestMs` on its clock has no effect and returns `late`: the caller has given
 *   up, and may have sent the same token again.
 */
export function rotateSql(table: string, rotation: Rotation, times: RotationTimes, latestMs: number): string {
  const [token, family, subject] = [
    keyOf("jti", rotation.jti),
    keyOf("fam", rotation.fam),
    keyOf("sub", rotation.sub),
  ];
  const nonce = nonceOf(rotation.nonce);
  const keep = (column: string): string =>
    `${column} = case when mark.${LIVES} then mark.${column} else excluded.${column} end`;
  return `
with due as materialized (select where clock_timestamp() <= ${instant(latestMs)}),
revoked as materialized (${revoked(table, [family, subject], subject, rotation.signedInAt)}),
seen as materialized (select nonce, deadline from ${table} where key = ${token} and ${LIVES}),
used as (
  insert into ${table} as mark (key, nonce, deadline, expires_at)
  select ${token}, ${nonce}, clock_timestamp() + ${interval(times.graceMs)}, statement_timestamp() + ${interval(times.usedTtlMs)}
  where exists (select from due) and not exists (select from revoked) and not exists (select from seen)
  on conflict (key) do update set ${keep("nonce")}, ${keep("deadline")}, ${keep("expires_at")}
  returning nonce, deadline
),
outcome as materialized (
  select case when nonce = ${nonce} then 'rotated' when clock_timestamp() < deadline then 'raced' else 'replayed' end as result
  from (
    select * from seen where exists (select from due) and not exists (select from revoked)
    union all select * from used
  ) as mark
),
ended as (
  insert into ${table} as mark (key, expires_at)
  select ${family}, statement_timestamp() + ${interval(times.familyTtlMs)} from outcome where result = 'replayed'
  on conflict (key) do update set expires_at = excluded.expires_at where not mark.${LIVES}
)
select case when exists (select from due) then coalesce((select result from outcome), 'replayed') else 'late' end as result,
  ${SERVER_MS}, ${NESTED}`;
}

/** Returns the statement that revokes one token, even if it was just used. */
export function revokeSql(table: string, jti: string, ttlMs: number): string {
  return `
insert into ${table} as mark (key, deadline, expires_at)
values (${keyOf("jti", jti)}, '-infinity', statement_timestamp() + ${interval(ttlMs)})
on conflict (key) do update
set nonce = null, deadline = '-infinity', expires_at = greatest(mark.expires_at, excluded.expires_at)
returning ${NESTED}`;
}

export function revokeFamilySql(table: string, fam: string, ttlMs: number): string {
  return `
insert into ${table} as mark (key, expires_at)
values (${keyOf("fam", fam)}, statement_timestamp() + ${interval(ttlMs)})
on conflict (key) do update set expires_at = greatest(mark.expires_at, excluded.expires_at)
returning ${NESTED}`;
}

/** Returns the statement that signs a person out. Keeps the later of the stored and the given time. */
export function revokeSubjectSql(table: string, sub: string, notBefore: number, ttlMs: number): string {
  return `
insert into ${table} as mark (key, deadline, expires_at)
values (${keyOf("sub", sub)}, ${instant(notBefore * 1_000)},
  statement_timestamp() + ${interval(ttlMs)})
on conflict (key) do update
set deadline = greatest(case when mark.${LIVES} then mark.deadline end, excluded.deadline),
  expires_at = greatest(mark.expires_at, excluded.expires_at)
returning ${NESTED}`;
}

/** Returns, as SQL, the second at which a session begins: the server's time, but never before the last sign-out. */
function signInSecond(deadline: string): string {
  return `greatest(floor(extract(epoch from clock_timestamp())), ceil(extract(epoch from ${deadline})))`;
}

export function signInTimeSql(table: string, sub: string): string {
  const deadline = `(select deadline from ${table} where key = ${keyOf("sub", sub)} and ${LIVES})`;
  return `select ${signInSecond(deadline)}::bigint as moment`;
}

/**
 * Returns the statement that revokes sessions which began up to the current second of the server's clock, or up to the
 * time of an earlier sign-out if that is later. It has no effect after `latestMs` on that clock, because the person may
 * have signed in again.
 */
export function revokeSubjectNowSql(table: string, sub: string, ttlMs: number, latestMs: number): string {
  return `
with ended as (
  insert into ${table} as mark (key, deadline, expires_at)
  select ${keyOf("sub", sub)}, to_timestamp((${signInSecond("null::timestamptz")} + 1)::float8),
    statement_timestamp() + ${interval(ttlMs)}
  where clock_timestamp() <= ${instant(latestMs)}
  on conflict (key) do update
  set deadline = to_timestamp((${signInSecond(`case when mark.${LIVES} then mark.deadline end`)} + 1)::float8),
    expires_at = greatest(mark.expires_at, excluded.expires_at)
  returning extract(epoch from deadline)::bigint as moment
)
select coalesce((select moment::text from ended), 'late') as result, ${SERVER_MS}, ${NESTED}`;
}

/** Returns the statement that deletes expired rows, oldest first. It skips rows that another transaction has locked. */
export function sweepSql(table: string, batch: number): string {
  return `
with over as materialized (
  select key from ${table} where expires_at <= statement_timestamp()
  order by expires_at limit ${batch} for update skip locked
),
deleted as (delete from ${table} as mark using over where mark.key = over.key returning 1)
select count(*)::int as deleted from deleted`;
}

/** Returns the query that checks whether all columns can be read and new rows can be written. */
export function lookSql(table: string): string {
  const name = `'${table.replaceAll("'", "''")}'`;
  return `
select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only,
  has_table_privilege(${name}, 'insert') and has_table_privilege(${name}, 'update') as writable,
  exists (select key, nonce, deadline, expires_at from ${table}) as used`;
}
