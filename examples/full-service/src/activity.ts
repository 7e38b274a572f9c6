import { enableRowSecurity, ensureSchema, type Queryable, type Row } from "@svc/sql";

/** The number of expenses that a tenant recorded on a day in UTC. */
export interface DayOfActivity {
  /** For example `2026-03-01`. */
  readonly day: string;
  readonly expenses: number;
}

const schema = {
  name: "expenses activity",
  tables: { activity: { tenant: "text", day: "date", expenses: "integer" } },
  statements: [
    `
create table if not exists activity (
  tenant text not null,
  day date not null,
  expenses integer not null,
  primary key (tenant, day)
)`,
  ],
};

/** Creates the table if it is missing. Row security limits statements to the days of their tenant. */
export async function ensureActivity(tx: Queryable): Promise<void> {
  await ensureSchema(tx, schema);
  await enableRowSecurity(tx, { table: "activity", column: "tenant" });
}

/** Adds one to the count of a day. The inbox ensures one call per expense. */
export async function countExpense(tx: Queryable, tenant: string, occurredAt: string): Promise<void> {
  await tx.query(
    `
insert into activity (tenant, day, expenses) values ($1, ($2::timestamptz at time zone 'UTC')::date, 1)
on conflict (tenant, day) do update set expenses = activity.expenses + 1`,
    [tenant, occurredAt],
  );
}

/** Returns the last 31 days on which the tenant has expenses, newest first. */
export async function recentActivity(tx: Queryable): Promise<readonly DayOfActivity[]> {
  const { rows } = await tx.query<DayOfActivity & Row>(
    "select to_char(day, 'YYYY-MM-DD') as day, expenses from activity order by day desc limit 31",
  );
  return rows;
}
