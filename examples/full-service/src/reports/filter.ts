import { z } from "zod";
import { month } from "../validation.ts";
import { monthAfter, monthCount } from "./month.ts";

/** The first and the last month of a report, both inclusive. */
export interface MonthRange {
  readonly from: string;
  readonly to: string;
}

const groupings = ["category", "month"] as const;

/** Whether figures are per month and category, or per month. */
export type ReportBy = (typeof groupings)[number];

const mostMonths = 60;
/** The earliest and the latest month that `month` accepts. */
const [earliest, latest] = ["1900-01", "2199-12"] as const;

/** The parameters of a report. */
export const reportQuery = z
  .strictObject({
    from: month.optional(),
    to: month.optional(),
    by: z.enum(groupings, { error: `must be one of ${groupings.join(", ")}` }).default("category"),
  })
  .superRefine(({ from, to }, context) => {
    if (from === undefined || to === undefined) return;
    const count = monthCount(from, to);
    const message =
      count < 1
        ? "must not be before `from`"
        : count > mostMonths
          ? `must be less than ${mostMonths} months after \`from\``
          : undefined;
    if (message !== undefined) context.addIssue({ code: "custom", path: ["to"], message });
  });

/** The validated parameters of a report. */
export type ReportFilter = Pick<z.output<typeof reportQuery>, "by"> & {
  readonly from: string | undefined;
  readonly to: string | undefined;
};

/**
 * Completes a range to twelve months if `from`, `to` or both are missing. If both are missing, the range ends with
 * `newest`. An added month stays within the months that `month` accepts, so that a client may request the returned range.
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
