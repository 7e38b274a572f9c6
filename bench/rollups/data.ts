import { defineRollup, type Rollup } from "@svc/rollups";
import type { Pool } from "pg";

/** The time zone of all months here. Its clocks have not changed since 2022. */
export const ZONE = "America/Mexico_City";
/** The twelve whole months in which all expenses are paid, as local dates. */
export const YEAR = { from: "2025-10-01", to: "2026-09-30" } as const;
export const BIG = "big";
/** One of the smaller tenants, each of which has the same number of rows. */
export const TYPICAL = "t0007";
export const CATEGORIES = 12;

const SOURCE_COLUMNS =
  "id bigint not null, tenant_id text not null, category text not null, amount numeric(12,2) not null, status text not null, paid_at timestamptz not null";

/** The expenses, and their totals by month and category. */
export interface Ledger {
  readonly table: string;
  readonly rollup: Rollup;
}

/** Defines the totals of the expenses in `table` that the panel needs. */
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

/** Tenants with `rowsEach` expenses each, whose names end in numbers from `first` on. */
export interface Crowd {
  readonly first: number;
  readonly tenants: number;
  readonly rowsEach: number;
}

/** Creates the expenses of these tenants and of the big tenant, and computes their totals. */
export async function fillLedger(pool: Pool, table: string, crowd: Crowd, bigRows: number): Promise<Ledger> {
  const rollup = rollupOf(table);
  await pool.query(`create table ${table} (${SOURCE_COLUMNS})`);
  await rollup.ensureSchema(pool);
  const ledger = { table, rollup };
  await addCrowd(pool, ledger, crowd, bigRows);
  return ledger;
}

/**
 * Adds expenses and recomputes all totals. The contents of a row depend only on its number, so every run creates the same
 * rows. The rows are in time order with all tenants mixed, as an application would have written them.
 */
export async function addCrowd(
  pool: Pool,
  { table, rollup }: Ledger,
  { first, tenants, rowsEach }: Crowd,
  bigRows = 0,
): Promise<void> {
  const others = tenants * rowsEach;
  await pool.query(`drop index if exists ${table}_tenant_id_paid_at_idx`);
  await pool.query(
    `insert into ${table}
     select n,
       case when n * $1 / $2 = (n - 1) * $1 / $2 then '${BIG}' else 't' || lpad((n * $1 / $2 % $3 + $4)::text, 4, '0') end,
       'category-' || (hashint8(n * 7) & 2147483647) % ${CATEGORIES},
       ((hashint8(n * 13) & 2147483647) % 1000000)::numeric / 100,
       case when (hashint8(n * 17) & 2147483647) % 50 = 7 then 'cancelled' else 'paid' end,
       timestamp '${YEAR.from}' at time zone '${ZONE}' + n::float8 / $2 * interval '364 days 23 hours'
     from generate_series(1::bigint, $2::bigint) as n`,
    [others, others + bigRows, tenants, first],
  );
  await pool.query(`create index ${table}_tenant_id_paid_at_idx on ${table} (tenant_id, paid_at)`);
  await rollup.rebuildAll(pool);
  await pool.query(`vacuum analyze ${table}`);
  await pool.query(`vacuum analyze ${table}_monthly`);
}
