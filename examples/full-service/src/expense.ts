/** One expense as clients see it. */
export interface Expense {
  readonly id: string;
  readonly tenant: string;
  readonly category: Category;
  /** With two decimals, as text: a JSON number would be a binary fraction. */
  readonly amount: string;
  readonly note: string;
  /** RFC 3339, in UTC. */
  readonly paid_at: string;
}

export const categories = ["travel", "meals", "office", "software", "other"] as const;
export type Category = (typeof categories)[number];

/** What a client sends to record one: the id is the service's, the tenant is the caller's. */
export type NewExpense = Omit<Expense, "id" | "tenant">;

/** What a listing is narrowed to. */
export interface ExpenseFilter {
  readonly category: Category | undefined;
  /** `2026-03`: that month in UTC. */
  readonly month: string | undefined;
  readonly after: Position | undefined;
  readonly limit: number;
}

/** What a tenant spent on one category. */
export interface CategoryTotal {
  readonly category: Category;
  readonly expenses: number;
  /** With two decimals, as text. */
  readonly amount: string;
}

/** Where a page of a listing ended. */
export interface Position {
  readonly paidAt: string;
  readonly id: string;
}

/** Whether a text can be the id of an expense at all. */
export function isExpenseId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}
