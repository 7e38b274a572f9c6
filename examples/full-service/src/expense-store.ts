import { randomBytes } from "node:crypto";
import type { Queryable, Row } from "@svc/sql";
import type { Expense, ExpenseFilter, NewExpense } from "./expense.ts";

const columns = `id, tenant, category, amount::text as amount, note, paid_at`;

interface ExpenseRow extends Omit<Expense, "paid_at">, Row {
  readonly paid_at: Date;
}

/** Records an expense and returns it with its id. */
export async function recordExpense(db: Queryable, expense: NewExpense): Promise<Expense> {
  const { rows } = await db.query<ExpenseRow>(
    `
insert into expenses (id, tenant, category, amount, note, paid_at)
values ($1, $2, $3, $4, $5, $6)
returning ${columns}`,
    [
      randomBytes(16).toString("hex"),
      expense.tenant,
      expense.category,
      expense.amount,
      expense.note,
      expense.paid_at,
    ],
  );
  const [row] = rows;
  if (row === undefined) throw new Error("an insert returned no row");
  return shape(row);
}

/** The expense of an id, or undefined. */
export async function findExpense(db: Queryable, id: string): Promise<Expense | undefined> {
  const { rows } = await db.query<ExpenseRow>(`select ${columns} from expenses where id = $1`, [id]);
  return rows[0] && shape(rows[0]);
}

/** A page of expenses, the newest first, with one more than asked for when there is a next page. */
export async function listExpenses(db: Queryable, filter: ExpenseFilter): Promise<readonly Expense[]> {
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const conditions: string[] = [];
  if (filter.tenant !== undefined) conditions.push(`tenant = ${bind(filter.tenant)}`);
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
  const { rows } = await db.query<ExpenseRow>(
    `select ${columns} from expenses ${where} order by paid_at desc, id desc limit ${bind(filter.limit + 1)}`,
    values,
  );
  return rows.map(shape);
}

function shape({ id, tenant, category, amount, note, paid_at }: ExpenseRow): Expense {
  return { id, tenant, category, amount, note, paid_at: paid_at.toISOString() };
}
