import pg from "pg";

export const ZONE = "America/Havana";

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

/** A table of sales. */
export interface Books extends AsyncDisposable {
  readonly pool: pg.Pool;
  /** Compares the totals of all buckets with those of their rows, and returns the buckets that differ. */
  compare(): Promise<Comparison>;
}

export interface Comparison {
  readonly buckets: number;
  readonly rows: number;
  readonly wrong: readonly string[];
}

export interface BooksOptions {
  /** The schema to create, in which all connections create their tables. */
  readonly schema: string;
  readonly connections: number;
}

export async function openBooks(url: string, { schema, connections }: BooksOptions): Promise<Books> {
  const options = `-c search_path=${schema}`;
  const pool = new pg.Pool({ connectionString: url, options, max: connections });
  pool.on("error", () => undefined);
  await pool.query(
    `create schema ${schema};
     create table sales (
       id bigint generated always as identity primary key, tenant_id text, at timestamptz not null,
       category text, amount numeric(12, 2) not null
     );
     create index on sales (tenant_id, at)`,
  );
  return {
    pool,
    compare: () => compare(pool),
    async [Symbol.asyncDispose]() {
      await pool.end();
    },
  };
}

// This query is independent of the tested code and of its time-zone arithmetic: PostgreSQL converts the time of each row to
// a local month.
export const LIVE = `select tenant_id, date_trunc('month', at at time zone '${ZONE}')::date as month, category,
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
