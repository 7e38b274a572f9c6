import type { Position } from "./expense.ts";
import { isExpenseId } from "./expense.ts";
import { utcTime } from "./timestamp.ts";

/** Returns the cursor for a position: a page returns it as `next`, and the next request sends it as `cursor`. */
export function cursorOf({ paidAt, id }: Position): string {
  return Buffer.from(`${paidAt} ${id}`).toString("base64url");
}

/** Returns the position of a cursor, or undefined for an invalid one, because clients may send anything. */
export function positionOf(cursor: string): Position | undefined {
  const [paidAt = "", id = "", ...rest] = Buffer.from(cursor, "base64url").toString().split(" ");
  if (rest.length > 0 || utcTime(paidAt) !== paidAt || !isExpenseId(id)) return undefined;
  return { paidAt, id };
}
