import { defineRollup, type Rollup } from "@svc/rollups";
import { enableRowSecurity, ensureSchema, type Queryable } from "@svc/sql";

/** The tenants that have expenses, for the verification of all totals. */
const tenants = {
  name: "expenses tenants",
  tables: { expense_tenants: { tenant: "text" } },
  // No database login sees the expenses of all tenants, so a table without row security lists the tenants.
  statements: [`create table if not exists expense_tenants (tenant text primary key)`],
};

/**
 * Returns the rollup of spending by tenant, month and category: six statistics, recomputed from the expenses of a month
 * whenever one of them changes.
 *
 * @param timeZone time zone of the months
 */
export function monthlyTotals(timeZone: string): Rollup {
  return defineRollup({
    name: "monthly_totals",
    source: {
      table: "expenses",
      tenantColumn: "tenant",
      tenantTable: "expense_tenants",
      timeColumn: "paid_at",
    },
    groupBy: { category: { column: "category" } },
    measures: {
      expenses: { sql: "count(*)", type: "bigint" },
      total: { sql: "sum(amount)", type: "numeric(20, 2)" },
      minimum: { sql: "min(amount)", type: "numeric(12, 2)" },
      maximum: { sql: "max(amount)", type: "numeric(12, 2)" },
      // Medians of categories do not determine the median of all. The average follows from total and count.
      average: { sql: "avg(amount)", type: "numeric(12, 2)", nonAdditive: true },
      median: {
        sql: "percentile_disc(0.5) within group (order by amount)",
        type: "numeric(12, 2)",
        nonAdditive: true,
      },
    },
    timeZone,
  });
}

/**
 * Creates the table of totals if the plugin `rollups` has not, and computes all totals of a new table or after a change
 * of the time zone. Row security limits statements to the totals of their tenant.
 */
export async function ensureTotals(tx: Queryable, totals: Rollup): Promise<void> {
  await ensureSchema(tx, tenants);
  await totals.ensureSchema(tx);
  if (!(await areComputed(tx, totals))) await computeAll(tx, totals);
  await enableRowSecurity(tx, { table: "monthly_totals", column: "tenant_id" });
}

/**
 * Computes the totals of all tenants. To read their rows, it lifts row security for the owner of the tables; the next
 * steps of the transaction turn it on again.
 */
async function computeAll(tx: Queryable, totals: Rollup): Promise<void> {
  for (const table of ["expenses", "monthly_totals"]) {
    await tx.query(`alter table ${table} no force row level security`);
  }
  await tx.query(
    "insert into expense_tenants (tenant) select distinct tenant from expenses on conflict do nothing",
  );
  await totals.rebuildAll(tx);
}

/** Returns whether all totals are computed in this time zone; {@link ensureTotals} turns on row security only afterwards. */
async function areComputed(tx: Queryable, { table, timeZone }: Rollup): Promise<boolean> {
  const { rows } = await tx.query(
    `
select from svc_rollups join pg_class on pg_class.oid = to_regclass(rollup)
where rollup = $1 and lower(zone) = lower($2) and relforcerowsecurity`,
    [table, timeZone],
  );
  return rows.length > 0;
}
