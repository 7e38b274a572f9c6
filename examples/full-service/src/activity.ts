import { enableRowSecurity, ensureSchema, type Queryable, type Row } from "@svc/sql";

/** How many expenses a tenant recorded on a day of UTC. */
export interface DayOfActivity {
  /** Such as `2026-03-01`. */
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

/** Makes the table where it is missing; a statement sees the days of its tenant. */
export async function ensureActivity(tx: Queryable): Promise<void> {
  await ensureSchema(tx, schema);
  await enableRowSecurity(tx, { table: "activity", column: "tenant" });
}

/** Counts one more. Not to be done twice for one expense: the inbox sees to that. */
export async function countExpense(tx: Queryable, tenant: string, occurredAt: string): Promise<void> {
  await tx.query(
    `
insert into activity (tenant, day, expenses) values ($1, ($2::timestamptz at time zone 'UTC')::date, 1)
on conflict (tenant, day) do update set expenses = activity.expenses + 1`,
    [tenant, occurredAt],
  );
}

/** The last month of a tenant, the newest day first. */
export async function recentActivity(tx: Queryable): Promise<readonly DayOfActivity[]> {
  const { rows } = await tx.query<DayOfActivity & Row>(
    "select to_char(day, 'YYYY-MM-DD') as day, expenses from activity order by day desc limit 31",
  );
  return rows;
}
