import type { RevocableToken, Rotation } from "../token-store.ts";
import { began, instant, keyOf, moment, nonceOf, timeToLive, window } from "./marks.ts";

// All statements are texts without parameters: several of them are one query then, one round trip and one transaction that
// the server ends by itself, so nothing can be left open on a connection, and poolers of transactions may stand between.
//
// Only a used token has a nonce. What `deadline` says depends on the row. Of a used token: the end of the window. Of a
// revoked one: long ago. Of a subject: sessions that began before are revoked. Of a family: nothing.

/** Whether the transaction is older than the statement: then it is somebody's, who may yet undo it. */
const NESTED = "now() <> statement_timestamp() as nested";

// A whole number, since `extra_float_digits` may cut others.
const SERVER_MS = "floor(extract(epoch from clock_timestamp()) * 1000)::bigint as server_ms";

/** Every row is there until its date, whether or not it was deleted since. */
const LIVES = "expires_at > statement_timestamp()";

/** Whether the token, its family or its subject is revoked. */
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
 * One presentation of a refresh token, as one statement. It takes no lock but that of the row it inserts:
 *
 * - Of those that present a token at the same moment the unique index lets one insert. The others wait for it and are shown
 *   its row, which `do update` does and `do nothing` does not, since it is younger than their snapshot.
 * - Who logs out while the statement runs revokes a family, and so every token that may come of this.
 * - A token that was used before is only read, however often it is presented.
 * - What the server begins only after `latestMs` on its clock is `late` and has no effect: nobody waits for it any more, and
 *   the same token may have been presented again since.
 */
export function rotateSql(table: string, rotation: Rotation, latestMs: number): string {
  const { signedInAt, graceSeconds, usedTtlSeconds, familyTtlSeconds } = rotation;
  const [token, family, subject] = [
    keyOf("jti", rotation.jti),
    keyOf("fam", rotation.fam),
    keyOf("sub", rotation.sub),
  ];
  const nonce = nonceOf(rotation.nonce);
  const grace = window("graceSeconds", graceSeconds);
  const used = timeToLive("usedTtlSeconds", usedTtlSeconds);
  const kept = timeToLive("familyTtlSeconds", familyTtlSeconds);
  const keep = (column: string): string =>
    `${column} = case when mark.${LIVES} then mark.${column} else excluded.${column} end`;
  return `
with due as materialized (select where clock_timestamp() <= ${instant(latestMs)}),
revoked as materialized (${revoked(table, [family, subject], subject, signedInAt)}),
seen as materialized (select nonce, deadline from ${table} where key = ${token} and ${LIVES}),
used as (
  insert into ${table} as mark (key, nonce, deadline, expires_at)
  select ${token}, ${nonce}, clock_timestamp() + ${grace}, statement_timestamp() + ${used}
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
  select ${family}, statement_timestamp() + ${kept} from outcome where result = 'replayed'
  on conflict (key) do update set expires_at = excluded.expires_at where not mark.${LIVES}
)
select case when exists (select from due) then coalesce((select result from outcome), 'replayed') else 'late' end as result,
  ${SERVER_MS}, ${NESTED}`;
}

/** Refuses one token, also one that was just used. */
export function revokeSql(table: string, jti: string, ttlSeconds: number): string {
  return `
insert into ${table} as mark (key, deadline, expires_at)
values (${keyOf("jti", jti)}, '-infinity', statement_timestamp() + ${timeToLive("ttlSeconds", ttlSeconds)})
on conflict (key) do update
set nonce = null, deadline = '-infinity', expires_at = greatest(mark.expires_at, excluded.expires_at)
returning ${NESTED}`;
}

export function revokeFamilySql(table: string, fam: string, ttlSeconds: number): string {
  return `
insert into ${table} as mark (key, expires_at)
values (${keyOf("fam", fam)}, statement_timestamp() + ${timeToLive("ttlSeconds", ttlSeconds)})
on conflict (key) do update set expires_at = greatest(mark.expires_at, excluded.expires_at)
returning ${NESTED}`;
}

/** The later moment stays, whichever was named last. */
export function revokeSubjectSql(table: string, sub: string, notBefore: number, ttlSeconds: number): string {
  return `
insert into ${table} as mark (key, deadline, expires_at)
values (${keyOf("sub", sub)}, ${moment("notBefore", notBefore)},
  statement_timestamp() + ${timeToLive("ttlSeconds", ttlSeconds)})
on conflict (key) do update
set deadline = greatest(case when mark.${LIVES} then mark.deadline end, excluded.deadline),
  expires_at = greatest(mark.expires_at, excluded.expires_at)
returning ${NESTED}`;
}

/** The second at which a session begins: that of the server's clock, and not before the last sign-out. */
function signInSecond(deadline: string): string {
  return `greatest(floor(extract(epoch from clock_timestamp())), ceil(extract(epoch from ${deadline})))`;
}

export function signInTimeSql(table: string, sub: string): string {
  const deadline = `(select deadline from ${table} where key = ${keyOf("sub", sub)} and ${LIVES})`;
  return `select ${signInSecond(deadline)}::bigint as moment`;
}

/**
 * Signs out what began before the next second of the server's clock, and what began at an earlier sign-out's moment. Has no
 * effect after `latestMs` on that clock: the person may have signed in again since.
 */
export function revokeSubjectNowSql(
  table: string,
  sub: string,
  ttlSeconds: number,
  latestMs: number,
): string {
  return `
with ended as (
  insert into ${table} as mark (key, deadline, expires_at)
  select ${keyOf("sub", sub)}, to_timestamp((${signInSecond("null::timestamptz")} + 1)::float8),
    statement_timestamp() + ${timeToLive("ttlSeconds", ttlSeconds)}
  where clock_timestamp() <= ${instant(latestMs)}
  on conflict (key) do update
  set deadline = to_timestamp((${signInSecond(`case when mark.${LIVES} then mark.deadline end`)} + 1)::float8),
    expires_at = greatest(mark.expires_at, excluded.expires_at)
  returning extract(epoch from deadline)::bigint as moment
)
select coalesce((select moment::text from ended), 'late') as result, ${SERVER_MS}, ${NESTED}`;
}

/** Deletes rows that are over, oldest first. One that somebody is about to use again is left alone. */
export function sweepSql(table: string, batch: number): string {
  return `
with over as materialized (
  select key from ${table} where expires_at <= statement_timestamp()
  order by expires_at limit ${batch} for update skip locked
),
deleted as (delete from ${table} as mark using over where mark.key = over.key returning 1)
select count(*)::int as deleted from deleted`;
}

/** Whether the rows can be read with all of their columns, and whether new ones can be written. */
export function lookSql(table: string): string {
  const name = `'${table.replaceAll("'", "''")}'`;
  return `
select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only,
  has_table_privilege(${name}, 'insert') and has_table_privilege(${name}, 'update') as writable,
  exists (select key, nonce, deadline, expires_at from ${table}) as used`;
}
