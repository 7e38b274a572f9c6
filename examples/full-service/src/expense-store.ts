import { randomBytes } from "node:crypto";
import type { Queryable, Row } from "@svc/sql";
import type { CategoryTotal, Expense, ExpenseFilter, NewExpense } from "./expense.ts";

const columns = `id, tenant, category, amount::text as amount, note, paid_at`;

interface ExpenseRow extends Omit<Expense, "paid_at">, Row {
  readonly paid_at: Date;
}

// Every statement runs in a tenant's transaction and sees only that tenant's rows, so no statement needs `where tenant =
// ...`.

/** Records an expense of a tenant and returns it with its id. */
export async function recordExpense(tx: Queryable, tenant: string, expense: NewExpense): Promise<Expense> {
  const [recorded] = await recordExpenses(tx, tenant, [expense]);
  if (recorded === undefined) throw new Error("an insert returned no row");
  return recorded;
}

/** Records several expenses in one statement. */
export async function recordExpenses(
  tx: Queryable,
  tenant: string,
  expenses: readonly NewExpense[],
): Promise<readonly Expense[]> {
  const rows = expenses.map((expense) => ({ id: randomBytes(16).toString("hex"), ...expense }));
  const inserted = await tx.query<ExpenseRow>(
    `
with known as (insert into expense_tenants (tenant) values ($2) on conflict do nothing)
insert into expenses (id, tenant, category, amount, note, paid_at)
select id, $2, category, amount, note, paid_at from jsonb_to_recordset($1::jsonb)
  as row (id text, category text, amount numeric, note text, paid_at timestamptz)
returning ${columns}`,
    [JSON.stringify(rows), tenant],
  );
  return inserted.rows.map(shape);
}

/** Returns the expense with an id, or undefined. */
export async function findExpense(tx: Queryable, id: string): Promise<Expense | undefined> {
  const { rows } = await tx.query<ExpenseRow>(`select ${columns} from expenses where id = $1`, [id]);
  return rows[0] && shape(rows[0]);
}

/** Returns the latest expense for each of the notes. */
export async function latestExpenses(tx: Queryable, notes: readonly string[]): Promise<readonly Expense[]> {
  const { rows } = await tx.query<ExpenseRow>(
    `
select distinct on (note) ${columns} from expenses where note = any($1) order by note, paid_at desc, id`,
    [notes],
  );
  return rows.map(shape);
}

/** Returns a page of expenses, newest first, with one extra row if there is a next page. */
export async function listExpenses(tx: Queryable, filter: ExpenseFilter): Promise<readonly Expense[]> {
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const conditions: string[] = [];
  if (filter.category !== undefined) conditions.push(`category = ${bind(filter.category)}`);
  if (filter.month !== undefined) {
    const start = bind(`${filter.month}-01T00:00:00Z`);
    conditions.push(`paid_at >= ${start}::timestamptz`);
    conditions.push(
      `paid_at < (${start}::timestamptz at time zone 'UTC' + interval '1 month') at time zone 'UTC'`,
    );
  }
  if (filter.after !== undefined) {
    const { paidAt, id } = filter.after;
    conditions.push(`(paid_at, id) < (${bind(paidAt)}::timestamptz, ${bind(id)})`);
  }
  const where = conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`;
  const { rows } = await tx.query<ExpenseRow>(
    `select ${columns} from expenses ${where} order by paid_at desc, id desc limit ${bind(filter.limit + 1)}`,
    values,
  );
  return rows.map(shape);
}

/** Returns the spending of the tenant by category. */
export async function totals(tx: Queryable): Promise<readonly CategoryTotal[]> {
  const { rows } = await tx.query<CategoryTotal & Row>(
    `
select category, count(*)::int as expenses, sum(amount)::text as amount
from expenses group by category order by category`,
  );
  return rows;
}

function shape({ id, tenant, category, amount, note, paid_at }: ExpenseRow): Expense {
  return { id, tenant, category, amount, note, paid_at: paid_at.toISOString() };
}
