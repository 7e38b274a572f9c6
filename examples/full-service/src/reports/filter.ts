import { Fields, type Reading } from "../fields.ts";
import { monthName } from "../validation.ts";
import { monthAfter, monthCount } from "./month.ts";

/** The first and the last month of a report, both inclusive. */
export interface MonthRange {
  readonly from: string;
  readonly to: string;
}

/** The parameters of a report. */
export interface ReportFilter {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly by: ReportBy;
}

/** Whether figures are per month and category, or per month. */
export type ReportBy = "category" | "month";

const known = ["from", "to", "by"];
const groupings: readonly ReportBy[] = ["category", "month"];
const mostMonths = 60;
/** The first and the last month that `monthName` accepts. */
const [earliest, latest] = ["1900-01", "2199-12"] as const;

const grouping: Reading<ReportBy> = {
  expects: `one of ${groupings.join(", ")}`,
  read: (value) => groupings.find((each) => each === value),
};

/** Returns the filter of a query string. @throws ProblemError 422 that lists all faults */
export function reportFilter(query: URLSearchParams): ReportFilter {
  const fields = new Fields("query", [...query], known);
  const filter = {
    from: fields.optional("from", monthName),
    to: fields.optional("to", monthName),
    by: fields.optional("by", grouping) ?? "category",
  };
  if (filter.from !== undefined && filter.to !== undefined) {
    const count = monthCount(filter.from, filter.to);
    if (count < 1) fields.refuse("to", "must not be before `from`");
    if (count > mostMonths) fields.refuse("to", `must be less than ${mostMonths} months after \`from\``);
  }
  fields.throwIssues();
  return filter;
}

/**
 * Completes a range to twelve months if `from`, `to` or both are missing; if both are missing, the range ends with
 * `newest`. The added month is always one that a client may request.
 */
export function rangeOf({ from, to }: Pick<ReportFilter, "from" | "to">, newest: string): MonthRange {
  if (from !== undefined) {
    const last = monthAfter(from, 11);
    return { from, to: to ?? (last < latest ? last : latest) };
  }
  if (to === undefined) return { from: monthAfter(newest, -11), to: newest };
  const first = monthAfter(to, -11);
  return { from: first > earliest ? first : earliest, to };
}
