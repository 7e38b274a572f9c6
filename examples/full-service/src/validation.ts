import { unprocessable, type ValidationIssue } from "@svc/problem";
import { positionOf } from "./cursor.ts";
import { categories, type Category, type ExpenseFilter, type NewExpense, type Position } from "./expense.ts";
import { Fields, matching, type Reading } from "./fields.ts";
import { utcTime } from "./timestamp.ts";

const bodyMembers = ["category", "amount", "note", "paid_at"];
const filters = ["category", "month", "cursor", "limit"];

/** Returns the expense of a request body. @throws ProblemError 422 that lists all faults */
export function newExpense(body: unknown): NewExpense {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw unprocessable([{ type: "object", loc: ["body"], msg: "must be a JSON object" }]);
  }
  const { expense, issues } = readExpense("body", body);
  if (expense === undefined) throw unprocessable(issues);
  return expense;
}

/** The result of reading a body or a row of a file: an expense, or its faults. */
export interface ReadExpense {
  readonly expense: NewExpense | undefined;
  readonly issues: readonly ValidationIssue[];
}

/** @param place the source of the values, for `loc` in the faults */
export function readExpense(place: string, values: object): ReadExpense {
  const fields = new Fields(place, Object.entries(values), bodyMembers);
  const category = fields.required("category", knownCategory);
  const amount = fields.required("amount", decimal);
  const note = fields.optional("note", noteText) ?? "";
  const paid_at = fields.required("paid_at", time);
  const isWhole = category !== undefined && amount !== undefined && paid_at !== undefined;
  const { issues } = fields;
  return {
    expense: isWhole && issues.length === 0 ? { category, amount, note, paid_at } : undefined,
    issues,
  };
}

/** Returns the filter of a query string. @throws ProblemError 422 that lists all faults */
export function expenseFilter(query: URLSearchParams): ExpenseFilter {
  const fields = new Fields("query", [...query], filters);
  const filter = {
    category: fields.optional("category", knownCategory),
    month: fields.optional("month", monthName),
    after: fields.optional("cursor", cursor),
    limit: fields.optional("limit", pageLimit) ?? 20,
  };
  fields.throwIssues();
  return filter;
}

const decimal = matching(/^\d{1,10}(\.\d{1,2})?$/, 'a decimal as text, such as "12.50"');
export const monthName = matching(/^(19|20|21)\d\d-(0[1-9]|1[0-2])$/, "a month such as 2026-03");

export const knownCategory: Reading<Category> = {
  expects: `one of ${categories.join(", ")}`,
  read: (value) => categories.find((each) => each === value),
};

const noteText: Reading<string> = {
  expects: "a string of at most 500 characters, without NUL",
  // Half a surrogate pair is not a character and would not be stored unchanged.
  read: (value) =>
    typeof value === "string" && value.length <= 500 && !/\0|\p{Surrogate}/u.test(value) ? value : undefined,
};

const time: Reading<string> = {
  expects: "a time that exists, RFC 3339 with a zone, such as 2026-03-01T12:00:00Z",
  read: (value) => (typeof value === "string" ? utcTime(value) : undefined),
};

const cursor: Reading<Position> = {
  expects: "the `next` of an earlier page",
  read: (value) => (typeof value === "string" ? positionOf(value) : undefined),
};

export const pageLimit: Reading<number> = {
  expects: "a whole number from 1 to 100",
  read: (value) => (typeof value === "string" && /^([1-9]\d?|100)$/.test(value) ? Number(value) : undefined),
};
