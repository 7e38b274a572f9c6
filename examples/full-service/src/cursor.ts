import type { Position } from "./expense.ts";
import { isExpenseId } from "./expense.ts";
import { utcTime } from "./timestamp.ts";

/** What `next` of a page says and `cursor` of the next request repeats. */
export function cursorOf({ paidAt, id }: Position): string {
  return Buffer.from(`${paidAt} ${id}`).toString("base64url");
}

/** The position that a cursor stands for, or undefined: it comes from a client and may hold anything. */
export function positionOf(cursor: string): Position | undefined {
  const [paidAt = "", id = "", ...rest] = Buffer.from(cursor, "base64url").toString().split(" ");
  if (rest.length > 0 || utcTime(paidAt) !== paidAt || !isExpenseId(id)) return undefined;
  return { paidAt, id };
}
