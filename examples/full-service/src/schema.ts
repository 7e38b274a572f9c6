import type { Database } from "@svc/database";
import { ensureSchema } from "@svc/sql";

/** Makes the table where it is missing. */
export async function ensureExpenses(db: Database): Promise<void> {
  await ensureSchema(db.pool, {
    name: "expenses",
    tables: {
      expenses: {
        id: "text",
        tenant: "text",
        category: "text",
        amount: "numeric",
        note: "text",
        paid_at: "timestamp with time zone",
      },
    },
    statements: [
      `
create table expenses (
  id text primary key,
  tenant text not null,
  category text not null,
  amount numeric(12, 2) not null,
  note text not null default '',
  -- Milliseconds: what a JSON timestamp and a cursor can say.
  paid_at timestamptz(3) not null
)`,
      `create index expenses_by_tenant on expenses (tenant, paid_at desc, id desc)`,
      `create index expenses_by_time on expenses (paid_at desc, id desc)`,
    ],
  });
}
