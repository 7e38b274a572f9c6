import type { Pool } from "pg";
import type { Random } from "../fuzz/random.ts";
import { BEHIND, insert, momentOf, MONTHS } from "./replicas.ts";

type Change = (pool: Pool, random: Random) => Promise<unknown>;

// Selects a row or a total of a tenant whose rows change by hand.
const someRow =
  "select id from sales where tenant_id is not distinct from $1 order by md5(id::text || $2) limit 1";
const someTotal =
  "select ctid from sales_months where tenant_id is not distinct from $1 order by md5(ctid::text || $2) limit 1";
const chosen = (random: Random): unknown[] => [random.pick(BEHIND), String(random.whole(1000))];

/** The ways to change rows or totals that no refresh follows. */
const changes: readonly Change[] = [
  (pool, random) => insert(pool, random.pick(BEHIND), random),
  (pool, random) => pool.query(`delete from sales where id = (${someRow})`, chosen(random)),
  (pool, random) =>
    pool.query(`update sales set amount = amount + 1 where id = (${someRow})`, chosen(random)),
  (pool, random) =>
    pool.query(`update sales set at = $3 where id = (${someRow})`, [...chosen(random), momentOf(random)]),
  (pool, random) =>
    pool.query(`update sales set tenant_id = $3 where id = (${someRow})`, [
      ...chosen(random),
      random.pick(BEHIND),
    ]),
  (pool, random) => pool.query(`delete from sales_months where ctid = (${someTotal})`, chosen(random)),
  (pool, random) =>
    pool.query(`update sales_months set n = n + 1 where ctid = (${someTotal})`, chosen(random)),
  // Delete all rows of a tenant, so that only its totals are left.
  (pool, random) => pool.query("delete from sales where tenant_id = $1", [random.pick(BEHIND)]),
];

/** Makes up to four changes by hand, or none. */
export async function changeByHand(pool: Pool, random: Random): Promise<void> {
  const count = random.chance(0.2) ? 0 : 1 + random.whole(4);
  for (let n = 0; n < count; n++) await random.pick(changes)(pool, random);
}

// This query is independent of the tested code: the server aggregates all rows by month and compares them with all totals.
const wrongSql = `with live as (
  select tenant_id, date_trunc('month', at at time zone 'UTC')::date as month, category, sum(amount) as total, count(*) as n
  from sales group by 1, 2, 3
), kept as (
  select tenant_id, month, category, total, n from sales_months
), wrong as (
  (select * from live except select * from kept) union all (select * from kept except select * from live)
)
select distinct concat_ws(' ', coalesce(tenant_id, 'none'), to_char(month, 'YYYY-MM-DD')) as bucket from wrong
where (tenant_id is null or tenant_id like 'hand-%')
  and month > date_trunc('month', now() at time zone 'UTC') - interval '${MONTHS} months'
order by 1`;

/** Returns the buckets, as `tenant month`, that differ from the rows of the tenants that change by hand. */
export async function wrongBuckets(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ bucket: string }>(wrongSql);
  return rows.map(({ bucket }) => bucket);
}
