import type { Database } from "@svc/database";
import { enableRowSecurity, ensureSchema, type Queryable } from "@svc/sql";
import { ensureActivity } from "./activity.ts";
import type { Rollup } from "@svc/rollups";
import { ensureImports } from "./imports/schema.ts";
import { ensureTotals } from "./reports/totals.ts";
import { seedDemoData } from "./seed.ts";

const columns = {
  id: "text",
  tenant: "text",
  category: "text",
  amount: "numeric",
  note: "text",
  paid_at: "timestamp with time zone",
} as const;

const schema = {
  name: "expenses",
  tables: { expenses: columns },
  statements: [
    `
create table if not exists expenses (
  id text primary key,
  tenant text not null,
  category text not null,
  amount numeric(12, 2) not null,
  note text not null default '',
  -- Milliseconds: what a JSON timestamp and a cursor can say.
  paid_at timestamptz(3) not null
)`,
  ],
};

const indexes = {
  name: "indexes of expenses",
  relations: ["expenses_by_tenant", "expenses_by_time"],
  statements: [
    `create index if not exists expenses_by_tenant on expenses (tenant, paid_at desc, id desc)`,
    `create index if not exists expenses_by_time on expenses (paid_at desc, id desc)`,
  ],
};

/**
 * Creates the missing tables and, if `seed` is set, fills a new table of expenses with demo data in the same
 * transaction. Of several processes that start concurrently, only one does this. An existing table keeps its rows. Row
 * security then limits every statement to the tenant of its transaction.
 *
 * @param totals the totals to create and compute together with the tables
 * @returns the number of demo rows written
 */
export function ensureExpenses(
  db: Database,
  totals: Rollup,
  { seed }: { readonly seed: boolean },
): Promise<number> {
  const work = async (tx: Queryable): Promise<number> => {
    const made = await ensureSchema(tx, schema);
    await ensureSchema(tx, indexes);
    // Do this before row security is turned on, because demo rows and totals belong to several tenants.
    const rows = made === "created" && seed ? await seedDemoData(tx) : 0;
    await ensureTotals(tx, totals);
    await enableRowSecurity(tx, { table: "expenses", column: "tenant" });
    await ensureImports(tx);
    await ensureActivity(tx);
    return rows;
  };
  return db.transaction(work, { isolation: "read committed" });
}
