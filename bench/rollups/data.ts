import { defineRollup, type Rollup } from "@svc/rollups";
import type { Pool } from "pg";

/** The zone of all months here. Its clocks have not changed since 2022. */
export const ZONE = "America/Mexico_City";
/** Twelve whole months, of which the last one is the current one. Local dates. */
export const YEAR = { from: "2025-10-01", to: "2026-09-30" } as const;
export const BIG = "big";
/** One of the others, all of which have as many rows. */
export const TYPICAL = "t0042";
export const CATEGORIES = 12;

const SOURCE_COLUMNS =
  "id bigint not null, tenant_id text not null, category text not null, amount numeric(12,2) not null, status text not null, paid_at timestamptz not null";

/** Expenses, and their totals by month and category. */
export interface Ledger {
  readonly table: string;
  readonly rollup: Rollup;
  readonly rows: number;
}

/** The totals that the panel needs of the expenses in `table`. */
export function rollupOf(table: string): Rollup {
  return defineRollup({
    name: `${table}_monthly`,
    source: {
      table,
      tenantColumn: "tenant_id",
      timeColumn: "paid_at",
      where: "status <> 'cancelled'",
    },
    groupBy: { category: { column: "category" } },
    measures: {
      total: { sql: "sum(amount)", type: "numeric" },
      n: { sql: "count(*)", type: "bigint" },
    },
    timeZone: ZONE,
  });
}

/** So many tenants `t0000`, `t0001`, ... with so many rows each. */
export interface Crowd {
  readonly tenants: number;
  readonly rowsEach: number;
}

/**
 * Makes expenses and their totals. Rows come by hash, so every run has the same ones; they lie in the order of time, as they
 * would have been written.
 */
export async function fillLedger(pool: Pool, table: string, crowd: Crowd, bigRows: number): Promise<Ledger> {
  const rollup = rollupOf(table);
  await pool.query(`create table ${table} (${SOURCE_COLUMNS})`);
  const others = crowd.tenants * crowd.rowsEach;
  await pool.query(
    `insert into ${table}
     select n, case when n > $1 then '${BIG}' else 't' || lpad((n % $2)::text, 4, '0') end,
       'category-' || (hashint8(n * 7) & 2147483647) % ${CATEGORIES},
       ((hashint8(n * 13) & 2147483647) % 1000000)::numeric / 100,
       case when n % 50 = 7 then 'cancelled' else 'paid' end,
       at
     from (
       select n, (timestamp '${YEAR.from}' at time zone '${ZONE}')
         + ((hashint8(n) & 2147483647) / 2147483648.0) * interval '364 days 23 hours' as at
       from generate_series(1::bigint, $3::bigint) as n
     ) as rows
     order by at`,
    [others, crowd.tenants, others + bigRows],
  );
  await pool.query(`create index on ${table} (tenant_id, paid_at)`);
  await rollup.ensureSchema(pool);
  await rollup.rebuildAll(pool);
  await pool.query(`vacuum analyze ${table}`);
  await pool.query(`vacuum analyze ${table}_monthly`);
  return { table, rollup, rows: others + bigRows };
}
