import { defineRollup, type Rollup } from "@svc/rollups";
import { enableRowSecurity, ensureSchema, type Queryable } from "@svc/sql";

/** Whose rows there are, for work that goes through all tenants. */
const tenants = {
  name: "expenses tenants",
  tables: { expense_tenants: { tenant: "text" } },
  // Nobody sees the expenses of all tenants. So who has any is kept where no row security is.
  statements: [`create table if not exists expense_tenants (tenant text primary key)`],
};

/**
 * What was spent, by tenant, month and category: six figures, computed anew from the expenses of a month whenever one of them
 * changes.
 *
 * @param timeZone whose months these are
 */
export function monthlyTotals(timeZone: string): Rollup {
  return defineRollup({
    name: "monthly_totals",
    source: { table: "expenses", tenantColumn: "tenant", timeColumn: "paid_at" },
    groupBy: { category: { column: "category" } },
    measures: {
      expenses: { sql: "count(*)", type: "bigint" },
      total: { sql: "sum(amount)", type: "numeric(20, 2)" },
      minimum: { sql: "min(amount)", type: "numeric(12, 2)" },
      maximum: { sql: "max(amount)", type: "numeric(12, 2)" },
      // Those of several categories do not follow from those of each. The average does: from total and count.
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
 * Makes the table of totals where it is missing, and computes all of it where it was, and where the months are of another time
 * zone than before. Then a statement sees the totals of its tenant.
 */
export async function ensureTotals(tx: Queryable, totals: Rollup): Promise<void> {
  await ensureSchema(tx, tenants);
  const isMade = (await totals.ensureSchema(tx)) === "created";
  if (isMade || (await isOfOtherZone(tx, totals))) await computeAll(tx, totals);
  await enableRowSecurity(tx, { table: "monthly_totals", column: "tenant_id" });
}

/**
 * All tenants at once. For that their rows are shown to the owner of the tables, which is this transaction alone while it lasts; its
 * next steps shut them away again.
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

async function isOfOtherZone(tx: Queryable, { table, timeZone }: Rollup): Promise<boolean> {
  const { rows } = await tx.query("select from svc_rollups where rollup = $1 and lower(zone) = lower($2)", [
    table,
    timeZone,
  ]);
  return rows.length === 0;
}

/** The job that computes the totals of one month. */
export const refreshTask = "rollup.refresh.monthly_totals";

/** The tenants that have expenses; asked outside of any. */
export async function expenseTenants(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ tenant: string }>("select tenant from expense_tenants order by tenant");
  return rows.map(({ tenant }) => tenant);
}
