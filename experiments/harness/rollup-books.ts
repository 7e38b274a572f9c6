import { defineRollup, type Rollup } from "@svc/rollups";
import type { Queryable } from "@svc/sql";
import pg from "pg";

const ZONE = "America/Havana";

/** A bucket of the rollup: a tenant, and any moment in its month. */
export interface Bucket {
  readonly tenant: string | null;
  readonly at: string;
}

export const TENANTS: readonly (string | null)[] = ["a", "b", "o'x; --", null];
export const CATEGORIES: readonly (string | null)[] = ["food", "travel", "", "x".repeat(64), null];
/**
 * Moments in three months. In this zone midnight of 1 November 2026 occurs twice, an hour apart, and PostgreSQL
 * converts that local time to the second one.
 */
export const MOMENTS: readonly string[] = [
  "2026-10-01T04:00:00Z",
  "2026-10-17T12:00:00Z",
  "2026-11-01T03:59:59.999Z",
  "2026-11-01T04:00:00Z",
  "2026-11-01T04:30:00Z",
  "2026-11-01T05:00:00Z",
  "2026-11-20T08:00:00Z",
  "2026-12-01T04:59:59.999Z",
  "2026-12-01T05:00:00Z",
  "2026-12-24T18:00:00Z",
];

/** Refreshes the totals of the buckets, within the caller's transaction. */
export type Refresh = (tx: Queryable, buckets: readonly Bucket[]) => Promise<void>;

/** A table of sales, and a rollup of their monthly totals. */
export interface Books extends AsyncDisposable {
  readonly pool: pg.Pool;
  readonly rollup: Rollup;
  readonly refresh: Refresh;
  /** Compares the totals of all buckets with those of their rows, and returns the buckets that differ. */
  compare(): Promise<Comparison>;
}

export interface Comparison {
  readonly buckets: number;
  readonly rows: number;
  readonly wrong: readonly string[];
}

export async function openBooks(url: string, connections: number, variant: string): Promise<Books> {
  const pool = new pg.Pool({ connectionString: url, max: connections });
  pool.on("error", () => undefined);
  await pool.query(
    `create table sales (
       id bigint generated always as identity primary key, tenant_id text, at timestamptz not null,
       category text, amount numeric(12, 2) not null
     );
     create index on sales (tenant_id, at)`,
  );
  const rollup = defineRollup({
    name: "sales_monthly",
    source: { table: "sales", tenantColumn: "tenant_id", timeColumn: "at" },
    groupBy: { category: { column: "category" } },
    measures: {
      total: { sql: "sum(amount)", type: "numeric(14, 2)" },
      n: { sql: "count(*)", type: "bigint" },
      least: { sql: "min(amount)", type: "numeric(12, 2)" },
      most: { sql: "max(amount)", type: "numeric(12, 2)" },
    },
    timeZone: ZONE,
  });
  await rollup.ensureSchema(pool);
  // Without rows this stores no totals, and therefore no time zone.
  await rollup.rebuildAll(pool);
  return {
    pool,
    rollup,
    refresh:
      variant === "broken-one-statement"
        ? inOneStatement
        : async (tx, buckets) => void (await rollup.refreshMany(tx, buckets)),
    compare: () => compare(pool),
    async [Symbol.asyncDispose]() {
      await pool.end();
    },
  };
}

// Independent of the tested code, and of its time-zone arithmetic: PostgreSQL converts the time of each row to a local
// month.
const LIVE = `select tenant_id, date_trunc('month', at at time zone '${ZONE}')::date as month, category,
  sum(amount)::numeric as total, count(*) as n, min(amount)::numeric as least, max(amount)::numeric as most
  from sales group by 1, 2, 3`;
const KEPT =
  "select tenant_id, month, category, total::numeric, n, least::numeric, most::numeric from sales_monthly";

async function compare(pool: pg.Pool): Promise<Comparison> {
  const { rows } = await pool.query<{ buckets: number; rows: number; wrong: string[] | null }>(
    `with live as (${LIVE}), kept as (${KEPT}),
       wrong as ((select * from live except select * from kept) union all (select * from kept except select * from live))
     select (select count(*)::int from (select tenant_id, month from live union select tenant_id, month from kept) as b) as buckets,
       (select count(*)::int from sales) as rows,
       (select array_agg(distinct concat_ws(' ', coalesce(tenant_id, 'no tenant'), month)) from wrong) as wrong`,
  );
  const [found] = rows;
  return { buckets: found?.buckets ?? 0, rows: found?.rows ?? 0, wrong: found?.wrong ?? [] };
}

/**
 * Takes the lock in the statement that computes the totals, whose snapshot is older than the lock: the fault of
 * `broken-one-statement`.
 */
async function inOneStatement(tx: Queryable, buckets: readonly Bucket[]): Promise<void> {
  const { rows } = await tx.query<{ tenant: string | null; month: string }>(
    `select distinct tenant, date_trunc('month', at at time zone '${ZONE}')::date::text as month
     from unnest($1::text[], $2::timestamptz[]) as buckets(tenant, at) order by 1 nulls first, 2`,
    [buckets.map(({ tenant }) => tenant), buckets.map(({ at }) => at)],
  );
  for (const { tenant, month } of rows) {
    await tx.query(
      `with locked as materialized (select pg_advisory_xact_lock(hashtext(concat_ws('/', $1::text, $2::text)))),
         fresh as materialized (
           select live.* from locked, (${LIVE}) as live
           where tenant_id is not distinct from $1::text and month = $2::date
         ), gone as (
           delete from sales_monthly as kept where tenant_id is not distinct from $1::text and month = $2::date
             and (select count(*) from locked) = 1
             and not exists (select from fresh where fresh.category is not distinct from kept.category)
         )
       insert into sales_monthly (tenant_id, month, category, total, n, least, most) select * from fresh
       on conflict (tenant_id, month, category)
       do update set total = excluded.total, n = excluded.n, least = excluded.least, most = excluded.most`,
      [tenant, month],
    );
  }
}
