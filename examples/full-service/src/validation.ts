import { z } from "zod";
import { positionOf } from "./cursor.ts";
import { categories } from "./expense.ts";
import { utcTime } from "./timestamp.ts";

/** PostgreSQL rejects NUL. */
const KEPT = /^[^\0]*$/;

/** Returns the schema of a string. Every fault has the same message, which describes the valid values. */
export function text(expects: string, pattern: RegExp = KEPT, most = 500): z.ZodString {
  const error = `must be ${expects}`;
  return (
    z
      .string({ error })
      .max(most, { error, abort: true })
      .regex(pattern, { error, abort: true })
      // A lone surrogate is not a character, and PostgreSQL would not store it unchanged.
      .refine((value) => value.isWellFormed(), { error, abort: true })
  );
}

export const category = z.enum(categories, { error: `must be one of ${categories.join(", ")}` });

export const month = text("a month such as 2026-03", /^(19|20|21)\d\d-(0[1-9]|1[0-2])$/);

export const pageLimit = z.int({ error: "must be a whole number from 1 to 100" }).min(1).max(100);

const amount = text('a decimal as text, such as "12.50"', /^\d{1,10}(\.\d{1,2})?$/);

const TIME = "a time that exists, RFC 3339 with a zone, such as 2026-03-01T12:00:00Z";

const time = text(TIME)
  .meta({ format: "date-time", example: "2026-03-01T12:00:00Z" })
  .transform((value, context) => {
    const time = utcTime(value);
    if (time === undefined) context.addIssue({ code: "custom", message: `must be ${TIME}` });
    return time ?? "";
  });

const CURSOR = "the `next` of an earlier page";

// This format is specific to the service, because JSON Schema cannot express which strings are cursors.
const cursor = text(CURSOR)
  .meta({ format: "cursor", description: `Must be ${CURSOR}.` })
  .transform((value, context) => {
    const position = positionOf(value);
    if (position === undefined) context.addIssue({ code: "custom", message: `must be ${CURSOR}` });
    return position;
  });

/** The members that a client sends to record an expense. */
export const newExpense = z
  .strictObject({
    category,
    amount,
    note: text("a string of at most 500 characters, without NUL").default(""),
    paid_at: time,
  })
  .meta({ id: "NewExpense" });

/** One expense as clients see it. */
export const expense = z
  .strictObject({
    id: z.string(),
    tenant: z.string(),
    category,
    amount: z.string(),
    note: z.string(),
    paid_at: z.string().meta({ format: "date-time" }),
  })
  .meta({ id: "Expense" });

/** The query of a listing. */
export const expenseQuery = z.strictObject({
  category: category.optional(),
  month: month.optional(),
  cursor: cursor.optional(),
  limit: pageLimit.default(20),
});
