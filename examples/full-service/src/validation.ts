import { unprocessable, type ValidationIssue } from "@svc/problem";
import { positionOf } from "./cursor.ts";
import { categories, type Category, type ExpenseFilter, type NewExpense, type Position } from "./expense.ts";
import { utcTime } from "./timestamp.ts";

const bodyMembers = ["category", "amount", "note", "paid_at"];
const filters = ["category", "month", "cursor", "limit"];

/** The expense of a request body. @throws ProblemError 422 that lists all that is wrong with it */
export function newExpense(body: unknown): NewExpense {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw unprocessable([{ type: "object", loc: ["body"], msg: "must be a JSON object" }]);
  }
  const { expense, issues } = readExpense("body", body);
  if (expense === undefined) throw unprocessable(issues);
  return expense;
}

/** What a row of a file, or a body, says: an expense, or what is wrong with it. */
export interface ReadExpense {
  readonly expense: NewExpense | undefined;
  readonly issues: readonly ValidationIssue[];
}

/** @param place where it stands, for what is said of it */
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

/** The filter of a query string. @throws ProblemError 422 that lists all that is wrong with it */
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

/** How a value is read: undefined when it is not what `expects` says. */
interface Reading<T> {
  readonly expects: string;
  read(value: unknown): T | undefined;
}

function matching(pattern: RegExp, expects: string): Reading<string> {
  return {
    expects,
    read: (value) => (typeof value === "string" && pattern.test(value) ? value : undefined),
  };
}

const decimal = matching(/^\d{1,10}(\.\d{1,2})?$/, 'a decimal as text, such as "12.50"');
const monthName = matching(/^(19|20|21)\d\d-(0[1-9]|1[0-2])$/, "a month such as 2026-03");

const knownCategory: Reading<Category> = {
  expects: `one of ${categories.join(", ")}`,
  read: (value) => categories.find((each) => each === value),
};

const noteText: Reading<string> = {
  expects: "a text of at most 500 characters, without NUL",
  // Half a surrogate pair is no character, and would not come back as it was sent.
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

const pageLimit: Reading<number> = {
  expects: "a whole number from 1 to 100",
  read: (value) => (typeof value === "string" && /^([1-9]\d?|100)$/.test(value) ? Number(value) : undefined),
};

/** The named values of a request, and what is wrong with them. */
class Fields {
  readonly #place: string;
  readonly #values: ReadonlyMap<string, unknown>;
  readonly #issues: ValidationIssue[] = [];

  constructor(place: string, entries: readonly (readonly [string, unknown])[], known: readonly string[]) {
    this.#place = place;
    this.#values = new Map(entries);
    const seen = new Set<string>();
    for (const [name] of entries) {
      if (!known.includes(name)) this.#add("unknown", name, `is unknown; known are ${known.join(", ")}`);
      else if (seen.has(name)) this.#add("repeated", name, "must be given once");
      seen.add(name);
    }
  }

  required<T>(name: string, reading: Reading<T>): T | undefined {
    if (this.#values.get(name) !== undefined) return this.optional(name, reading);
    this.#add("missing", name, `must be ${reading.expects}`);
    return undefined;
  }

  optional<T>(name: string, reading: Reading<T>): T | undefined {
    const input = this.#values.get(name);
    if (input === undefined) return undefined;
    const value = reading.read(input);
    if (value === undefined)
      this.#issues.push(this.#issue("value", name, `must be ${reading.expects}`, input));
    return value;
  }

  get issues(): readonly ValidationIssue[] {
    return this.#issues;
  }

  throwIssues(): void {
    if (this.#issues.length > 0) throw unprocessable(this.#issues);
  }

  #add(type: string, name: string, msg: string): void {
    this.#issues.push(this.#issue(type, name, msg));
  }

  #issue(type: string, name: string, msg: string, input?: unknown): ValidationIssue {
    return { type, loc: [this.#place, name], msg, ...(input === undefined ? {} : { input }) };
  }
}
