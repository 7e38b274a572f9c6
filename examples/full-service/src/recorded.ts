import type { Events, NewEvent } from "@svc/events";
import type { Queryable } from "@svc/sql";
import type { Expense } from "./expense.ts";

/** The type of the event. */
export const recorded = "expense.recorded";

/** The data of the event. */
export type RecordedExpense = Pick<Expense, "id" | "category" | "amount" | "paid_at">;

/** Publishes an event for each expense, in the transaction that wrote the expenses. */
export type Announce = (tx: Queryable, expenses: readonly Expense[]) => Promise<void>;

export function announcer(events: Events): Announce {
  return async (tx, expenses) => {
    if (expenses.length === 0) return;
    await events.publishMany(expenses.map(eventOf), { tx });
  };
}

function eventOf({ id, category, amount, paid_at }: Expense): NewEvent {
  const data: RecordedExpense = { id, category, amount, paid_at };
  return { type: recorded, key: id, data };
}
