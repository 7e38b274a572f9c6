import { unprocessable, type ValidationIssue } from "@svc/problem";
import { categories, type Category, type ExpenseFilter, type NewExpense, type Position } from "./expense.ts";

type Place = "body" | "query" | "path";

const slug = /^[a-z0-9][a-z0-9-]{0,62}$/;
const month = /^(19|20)\d\d-(0[1-9]|1[0-2])$/;
const amount = /^\d{1,10}(\.\d{1,2})?$/;
const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/;
const expenseId = /^[0-9a-f]{32}$/;

const wantedOfBody = ["tenant", "category", "amount", "note", "paid_at"];
const wantedOfQuery = ["tenant", "category", "month", "cursor", "limit"];

/** The expense of a request body. @throws ProblemError 422 that lists all that is wrong with it */
export function newExpense(body: unknown): NewExpense {
  const issues = new Issues("body");
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw unprocessable([{ type: "object", loc: ["body"], msg: "must be a JSON object" }]);
  }
  const given = body as Readonly<Record<string, unknown>>;
  issues.unknown(given, wantedOfBody);
  const expense = {
    tenant: issues.text(given, "tenant", slug, "lowercase letters, digits and hyphens, at most 63"),
    category: issues.category(given) ?? "other",
    amount: issues.text(given, "amount", amount, 'a decimal as text, such as "12.50"'),
    note:
      given["note"] === undefined
        ? ""
        : issues.text(given, "note", /^[^\0]{0,500}$/s, "at most 500 characters"),
    paid_at: issues.text(given, "paid_at", timestamp, "RFC 3339 with a zone, such as 2026-03-01T12:00:00Z"),
  };
  if (timestamp.test(expense.paid_at) && Number.isNaN(Date.parse(expense.paid_at))) {
    issues.add("paid_at", "value", "must be a day and time that exist", expense.paid_at);
  }
  issues.throwIfAny();
  return { ...expense, paid_at: new Date(expense.paid_at).toISOString() };
}

/** The filter of a query string. @throws ProblemError 422 that lists all that is wrong with it */
export function expenseFilter(query: URLSearchParams): ExpenseFilter {
  const issues = new Issues("query");
  const given = Object.fromEntries(query);
  issues.unknown(given, wantedOfQuery);
  const filter = {
    tenant: given["tenant"] === undefined ? undefined : issues.text(given, "tenant", slug, "a tenant's name"),
    category: given["category"] === undefined ? undefined : issues.category(given),
    month:
      given["month"] === undefined
        ? undefined
        : issues.text(given, "month", month, "a month such as 2026-03"),
    after: given["cursor"] === undefined ? undefined : issues.cursor(given["cursor"]),
    limit: given["limit"] === undefined ? 20 : issues.limit(given["limit"]),
  };
  issues.throwIfAny();
  return filter;
}

/** Whether a path names an expense at all. */
export function isExpenseId(id: string): boolean {
  return expenseId.test(id);
}

/** What `next` of a page says and `cursor` of the next request repeats. */
export function cursorOf(position: Position): string {
  return Buffer.from(JSON.stringify([position.paidAt, position.id])).toString("base64url");
}

class Issues {
  readonly #place: Place;
  readonly #found: ValidationIssue[] = [];

  constructor(place: Place) {
    this.#place = place;
  }

  add(name: string, type: string, msg: string, input: unknown): void {
    this.#found.push({ type, loc: [this.#place, name], msg, ...(input === undefined ? {} : { input }) });
  }

  throwIfAny(): void {
    if (this.#found.length > 0) throw unprocessable(this.#found);
  }

  unknown(given: object, wanted: readonly string[]): void {
    for (const name of Object.keys(given)) {
      if (!wanted.includes(name))
        this.add(name, "unknown", `is unknown; known are ${wanted.join(", ")}`, undefined);
    }
  }

  text(given: Readonly<Record<string, unknown>>, name: string, pattern: RegExp, expects: string): string {
    const value = given[name];
    if (typeof value === "string" && pattern.test(value)) return value;
    this.add(name, value === undefined ? "missing" : "value", `must be ${expects}`, value);
    return "";
  }

  category(given: Readonly<Record<string, unknown>>): Category | undefined {
    const value = given["category"];
    const found = categories.find((each) => each === value);
    if (found === undefined) this.add("category", "value", `must be one of ${categories.join(", ")}`, value);
    return found;
  }

  limit(text: string): number {
    const value = /^\d{1,3}$/.test(text) ? Number(text) : 0;
    if (value >= 1 && value <= 100) return value;
    this.add("limit", "value", "must be a whole number from 1 to 100", text);
    return 20;
  }

  cursor(text: string): Position | undefined {
    const position = parseCursor(text);
    if (position === undefined) this.add("cursor", "value", "must be the `next` of an earlier page", text);
    return position;
  }
}

function parseCursor(text: string): Position | undefined {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
    if (!Array.isArray(parsed)) return undefined;
    const [paidAt, id] = parsed as unknown[];
    if (typeof paidAt !== "string" || !timestamp.test(paidAt) || Number.isNaN(Date.parse(paidAt)))
      return undefined;
    return typeof id === "string" && isExpenseId(id) ? { paidAt, id } : undefined;
  } catch {
    return undefined;
  }
}
