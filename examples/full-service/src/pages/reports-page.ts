import { dataTable } from "../charts/data-table.ts";
import { rangeBars } from "../charts/ranges.ts";
import { stackedBars } from "../charts/stacked-bars.ts";
import { chartStyle } from "../charts/style.ts";
import { categories } from "../expense.ts";
import { monthsFrom, monthTitle } from "../reports/month.ts";
import type { KnownMonths, MonthFigures, MonthlyReport } from "../reports/report.ts";
import { type Html, markup } from "@svc/html";
import { layout } from "./layout.ts";
import { searchForm } from "./receipts-page.ts";

/** The content of the page. */
export interface ReportsPage {
  readonly tenant: string;
  /** The report by category. */
  readonly report: MonthlyReport;
  /** The first and the last month with expenses. */
  readonly known: KnownMonths;
  /** The figures of the same months for all categories together. */
  readonly together: readonly MonthFigures[];
  /** The error of the requested months. Default: none. */
  readonly error?: string | undefined;
}

export function reportsPage(page: ReportsPage): string {
  const { tenant, report, error } = page;
  const { from, to, time_zone: zone } = report;
  const title = from === to ? monthTitle(from) : `${monthTitle(from)} to ${monthTitle(to)}`;
  const isWrong = error !== undefined && markup` aria-invalid="true" aria-describedby="error"`;
  const main = markup`<h1>Reports</h1>
<p>What ${tenant} spent, by month (${zone}).</p>
<form action="/reports">
${error !== undefined && markup`<p class="error" id="error" role="alert">${error}</p>`}
<div class="row">
<div><label for="from">From</label>
<select id="from" name="from"${isWrong}>
${choices(page, from)}
</select></div>
<div><label for="to">To</label>
<select id="to" name="to"${isWrong}>
${choices(page, to)}
</select></div>
<button>Show</button>
</div>
</form>
<h2>${title}</h2>
${page.together.length === 0 ? markup`<p>There are no expenses in these months.</p>` : charts(page)}
<h2>Search receipts</h2>
${searchForm({})}
<p><a href="/account">Your account</a> · <a href="/">Start page</a></p>`;
  return layout(`${error === undefined ? "" : "Error: "}Expenses reports`, main, chartStyle);
}

const mostChoices = 240;

/** Returns the choices for a month: the newest months with expenses and the months of the report, newest first. */
function choices({ known, report }: ReportsPage, chosen: string): readonly Html[] {
  const { from, to } = report;
  const newest = monthsFrom(known.first, known.last).slice(-mostChoices);
  return [...new Set([...newest, ...monthsFrom(from, to)])]
    .toSorted()
    .toReversed()
    .map(
      (month) =>
        markup`<option value="${month}"${month === chosen && markup` selected`}>${monthTitle(month)}</option>`,
    );
}

function charts({ report, together }: ReportsPage): Html {
  const months = monthsFrom(report.from, report.to);
  const byMonth = new Map(together.map((figures) => [figures.month, figures]));
  const of = new Map(report.months.map((figures) => [`${figures.month} ${figures.category}`, figures]));
  const series = (height: (figures: MonthFigures) => number, text: (figures: MonthFigures) => string) =>
    categories.map((name) => ({
      name,
      values: months.map((month) => {
        const figures = of.get(`${month} ${name}`);
        return figures === undefined ? none : { height: height(figures), text: text(figures) };
      }),
    }));
  const parts = (title: string, chosen: (figures: MonthFigures) => string): Html =>
    dataTable({
      caption: title,
      columns: ["Month", ...categories, "all"],
      rows: months.map((month) => ({
        name: monthTitle(month),
        cells: [...categories.map((name) => of.get(`${month} ${name}`)), byMonth.get(month)].map(
          cell(chosen),
        ),
      })),
    });
  const titles = {
    total: "Spending by month",
    count: "Number of expenses by month",
    range: "Amounts by month",
  };
  const highest = (value: (figures: MonthFigures) => number): MonthFigures | undefined =>
    together.toSorted((a, b) => value(b) - value(a))[0];
  const dearest = highest(({ total }) => Number(total));
  const busiest = highest(({ expenses }) => expenses);
  const largest = highest(({ maximum }) => Number(maximum));
  return markup`<section>
<h3>${titles.total}</h3>
${stackedBars({
  id: "total",
  isCount: false,
  title: titles.total,
  description: `Spending: one bar for ${eachOf(months)}, stacked by ${categories.length} categories. Spending was highest in ${monthAndFigure(dearest, ({ total }) => money(total))}.`,
  months,
  series: series(
    ({ total }) => Number(total),
    ({ total }) => money(total),
  ),
})}
${parts("Spending by month and category", ({ total }) => money(total))}
</section>
<section>
<h3>${titles.count}</h3>
${stackedBars({
  id: "count",
  isCount: true,
  title: titles.count,
  description: `Number of expenses: one bar for ${eachOf(months)}, stacked by ${categories.length} categories. The number was highest in ${monthAndFigure(busiest, ({ expenses }) => String(expenses))}.`,
  months,
  series: series(
    ({ expenses }) => expenses,
    ({ expenses }) => String(expenses),
  ),
})}
${parts("Expenses by month and category", ({ expenses }) => String(expenses))}
</section>
<section>
<h3>${titles.range}</h3>
${rangeBars({
  id: "range",
  title: titles.range,
  description: `Range of expenses: one bar for ${eachOf(months)}, from the smallest expense to the largest, with a mark at the average. The largest expense was in ${monthAndFigure(largest, ({ maximum }) => money(maximum))}.`,
  months,
  ranges: new Map(
    together.map(({ month, minimum, average, maximum }) => [
      month,
      { least: minimum, middle: average, most: maximum },
    ]),
  ),
})}
${dataTable({
  caption: "Smallest, average and largest expense by month",
  columns: ["Month", "smallest", "average", "largest"],
  rows: months.map((month) => ({
    name: monthTitle(month),
    cells: [
      cell(({ minimum }) => money(minimum))(byMonth.get(month)),
      cell(({ average }) => money(average))(byMonth.get(month)),
      cell(({ maximum }) => money(maximum))(byMonth.get(month)),
    ],
  })),
})}
</section>`;
}

const none = { height: 0, text: "" } as const;

function cell(chosen: (figures: MonthFigures) => string): (figures: MonthFigures | undefined) => string {
  return (figures) => (figures === undefined ? "–" : chosen(figures));
}

function eachOf({ length }: readonly string[]): string {
  return length === 1 ? "one month" : `each of ${length} months`;
}

function monthAndFigure(
  figures: MonthFigures | undefined,
  chosen: (figures: MonthFigures) => string,
): string {
  return figures === undefined ? "no month" : `${monthTitle(figures.month)}: ${chosen(figures)}`;
}

/** Formats an amount with commas at the thousands, without rounding. */
function money(amount: string): string {
  return amount.replace(/\B(?=(?:\d{3})+\.)/g, ",");
}
