/** One expense as clients see it. */
export interface Expense {
  readonly id: string;
  readonly tenant: string;
  readonly category: Category;
  /** A string with two decimals, because a JSON number would be a binary fraction. */
  readonly amount: string;
  readonly note: string;
  /** RFC 3339, in UTC. */
  readonly paid_at: string;
}

export const categories = ["travel", "meals", "office", "software", "other"] as const;
export type Category = (typeof categories)[number];

/** The members that a client sends to record an expense. The service adds the id and the caller's tenant. */
export type NewExpense = Omit<Expense, "id" | "tenant">;

/** The filter of a listing. */
export interface ExpenseFilter {
  readonly category: Category | undefined;
  /** A month in UTC, for example `2026-03`. */
  readonly month: string | undefined;
  readonly after: Position | undefined;
  readonly limit: number;
}

/** The spending of a tenant on one category. */
export interface CategoryTotal {
  readonly category: Category;
  readonly expenses: number;
  /** A string with two decimals. */
  readonly amount: string;
}

/** The position of a page's last row in a listing. */
export interface Position {
  readonly paidAt: string;
  readonly id: string;
}

/** Returns whether a string has the form of an expense id. */
export function isExpenseId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}
