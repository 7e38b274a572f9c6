import { enableRowSecurity, ensureSchema, type Queryable, type Row } from "@svc/sql";

/** The expense for which a receipt is issued. */
export interface Purchase {
  /** Id of the expense. */
  readonly expense: string;
  readonly category: string;
  /** With two decimals, such as `12.50`. */
  readonly amount: string;
}

/** The receipt of an expense. */
export interface Receipt extends Purchase {
  /** Consecutive for each tenant, from 1. */
  readonly number: number;
}

const schema = {
  name: "receipts",
  tables: {
    receipts: { tenant: "text", number: "integer", expense: "text", category: "text", amount: "numeric" },
  },
  statements: [
    `
create table if not exists receipts (
  tenant text not null,
  number integer not null,
  expense text not null,
  category text not null,
  amount numeric(12, 2) not null,
  primary key (tenant, number),
  unique (tenant, expense)
)`,
  ],
};

/**
 * Creates the table if it is missing. Row security limits statements to the receipts of their tenant; the statements also
 * name the tenant, because row security does not hold for a superuser.
 */
export async function ensureReceipts(tx: Queryable): Promise<void> {
  await ensureSchema(tx, schema);
  await enableRowSecurity(tx, { table: "receipts", column: "tenant" });
}

/**
 * Issues the receipt of an expense with the tenant's next number.
 *
 * @returns undefined if the expense already has a receipt
 */
export async function issueReceipt(
  tx: Queryable,
  tenant: string,
  { expense, category, amount }: Purchase,
): Promise<Receipt | undefined> {
  // Only one transaction of a tenant at a time takes a number, so that there are no gaps.
  await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`receipts of ${tenant}`]);
  const { rows } = await tx.query<Receipt & Row>(
    `
insert into receipts (tenant, number, expense, category, amount)
select $1, coalesce(max(number), 0) + 1, $2, $3, $4::numeric from receipts where tenant = $1
on conflict (tenant, expense) do nothing
returning number, expense, category, amount::text as amount`,
    [tenant, expense, category, amount],
  );
  return rows[0];
}

/** Returns the receipt of an expense, or undefined. */
export async function findReceipt(
  tx: Queryable,
  tenant: string,
  expense: string,
): Promise<Receipt | undefined> {
  const { rows } = await tx.query<Receipt & Row>(
    `
select number, expense, category, amount::text as amount from receipts where tenant = $1 and expense = $2`,
    [tenant, expense],
  );
  return rows[0];
}
