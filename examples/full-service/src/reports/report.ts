import type { BoundRollup } from "@svc/rollups";
import type { Queryable, Row } from "@svc/sql";
import type { Category } from "../expense.ts";
import { type MonthRange, rangeOf, type ReportBy, type ReportFilter } from "./filter.ts";

/** The figures of a month, or of one category in it. Amounts are strings with two decimals. */
export interface MonthFigures {
  /** For example `2026-03`. Months without expenses are omitted. */
  readonly month: string;
  /** Only in a report by category. */
  readonly category?: Category;
  readonly expenses: number;
  readonly total: string;
  /** Rounded to two decimals. */
  readonly average: string;
  readonly minimum: string;
  readonly maximum: string;
  /**
   * The middle amount, or the smaller one of two middle amounts. Only in a report by category, because a month's median
   * does not follow from those of its categories.
   */
  readonly median?: string;
}

/** The response of `GET /reports/monthly`. */
export interface MonthlyReport extends MonthRange {
  readonly time_zone: string;
  readonly by: ReportBy;
  readonly months: readonly MonthFigures[];
}

/** @param tx a transaction of the tenant */
export async function monthlyReport(
  tx: Queryable,
  tenant: string,
  totals: BoundRollup,
  filter: ReportFilter,
): Promise<MonthlyReport> {
  const { by } = filter;
  const range = rangeOf(filter, (await knownMonths(tx, tenant, totals)).last);
  const months = await figuresOf(tx, tenant, totals, range, by);
  return { ...range, time_zone: totals.timeZone, by, months };
}

/** The first and the last month with expenses; without expenses both are the current month. */
export interface KnownMonths {
  readonly first: string;
  readonly last: string;
}

export async function knownMonths(
  tx: Queryable,
  tenant: string,
  { timeZone }: BoundRollup,
): Promise<KnownMonths> {
  const { rows } = await tx.query<KnownMonths & Row>(
    `
select to_char(coalesce(min(month), now() at time zone $2), 'YYYY-MM') as first,
  to_char(coalesce(max(month), now() at time zone $2), 'YYYY-MM') as last
from monthly_totals where tenant_id = $1`,
    [tenant, timeZone],
  );
  const [found] = rows;
  if (found === undefined) throw new Error("an aggregate returned no row");
  return found;
}

/** A row of totals from the driver, which returns bigints and decimals as strings. */
interface TotalRow extends Row {
  readonly month: string;
  readonly category: Category;
  readonly expenses: string;
  readonly total: string;
  readonly minimum: string;
  readonly maximum: string;
  readonly average: string;
  readonly median: string;
}

const additive = ["expenses", "total", "minimum", "maximum"];

/** Returns the figures of every month of a range that has expenses, in order. */
export async function figuresOf(
  tx: Queryable,
  tenant: string,
  totals: BoundRollup,
  { from, to }: MonthRange,
  by: ReportBy,
): Promise<readonly MonthFigures[]> {
  const range = { from: `${from}-01`, to: `${to}-01` };
  const isWhole = by === "category";
  const rows = (await totals.query(
    tenant,
    isWhole ? range : { ...range, by: ["month"], measures: additive },
    tx,
  )) as TotalRow[];
  return rows.map(({ month: day, category, expenses, total, minimum, maximum, average, median }) => {
    const [month, count] = [day.slice(0, 7), Number(expenses)];
    return isWhole
      ? { month, category, expenses: count, total, average, minimum, maximum, median }
      : { month, expenses: count, total, average: averageOf(total, count), minimum, maximum };
  });
}

/** Divides a total by a count and rounds to two decimals as PostgreSQL does, without binary fractions. */
function averageOf(total: string, count: number): string {
  const [cents, divisor] = [BigInt(total.replace(".", "")), BigInt(count)];
  const rounded = String((2n * cents + divisor) / (2n * divisor)).padStart(3, "0");
  return `${rounded.slice(0, -2)}.${rounded.slice(-2)}`;
}
