import { defineRollup, type Rollup, type RollupOptions } from "@svc/rollups";
import { Client, Pool } from "pg";

/** The definition that most tests use. */
export const EXPENSES = {
  name: "expense_months",
  source: { table: "expenses", tenantColumn: "tenant_id", timeColumn: "spent_at" },
  groupBy: { category: { column: "category" } },
  measures: {
    total: { sql: "sum(amount)", type: "numeric" },
    n: { sql: "count(*)", type: "bigint" },
  },
  timeZone: "Europe/Berlin",
} as const satisfies RollupOptions;

/** A source and its totals for one test. */
export interface Expenses extends AsyncDisposable {
  readonly pool: Pool;
  readonly rollup: Rollup;
  readonly source: string;
  add(tenant: string | null, at: string, category: string | null, amount: number | null): Promise<number>;
  /** Returns all rows of the totals. */
  totals(): Promise<Record<string, unknown>[]>;
}

let made = 0;

export async function openExpenses(url: string, options: Partial<RollupOptions> = {}): Promise<Expenses> {
  const pool = openPool(url);
  made += 1;
  const source = `expenses_${made}`;
  await pool.query(`create table ${source} (id int generated always as identity primary key, tenant_id text,
    spent_at timestamptz not null, category text, amount numeric)`);
  await pool.query(`create index on ${source} (tenant_id, spent_at)`);
  const rollup = defineRollup({
    ...EXPENSES,
    name: `expense_months_${made}`,
    ...options,
    source: { ...EXPENSES.source, ...options.source, table: source },
  });
  await rollup.ensureSchema(pool);
  return {
    pool,
    rollup,
    source,
    async add(tenant, at, category, amount) {
      const text = `insert into ${source} (tenant_id, spent_at, category, amount) values ($1, $2, $3, $4) returning id`;
      return (await pool.query<{ id: number }>(text, [tenant, at, category, amount])).rows[0]?.id ?? 0;
    },
    totals: async () =>
      (
        await pool.query(
          `select to_jsonb(kept) - 'month' || jsonb_build_object('month', month) as kept from ${rollup.table} as kept
            order by kept.tenant_id, kept.month, kept::text collate "C"`,
        )
      ).rows.map(({ kept }) => kept as Record<string, unknown>),
    [Symbol.asyncDispose]: () => pool.end(),
  };
}

export function openPool(url: string, max = 12): Pool {
  const pool = new Pool({ connectionString: url, max });
  pool.on("error", () => undefined);
  return pool;
}

/** Opens a separate connection; disposing of it closes it and rolls back its transaction. */
export async function openClient(url: string): Promise<Client & AsyncDisposable> {
  const client = new Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}
