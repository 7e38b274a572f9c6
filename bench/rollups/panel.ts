import type { RollupQuery, Total } from "@svc/rollups";
import type { Queryable } from "@svc/sql";
import { type Ledger, ZONE } from "./data.ts";

/** Six totals of a tenant. Money is a string with two decimals; counts are strings. */
export interface Panel {
  readonly monthByCategory: readonly string[];
  readonly lastTwelveMonths: readonly string[];
  readonly yearToDate: string;
  readonly countOfMonth: string;
  readonly averageTicket: string;
  readonly topOfQuarter: string;
}

/** Local dates: `until` is the last day of every range, the others are first days. */
const RANGES = {
  month: "2026-09-01",
  twelve: "2025-10-01",
  year: "2026-01-01",
  quarter: "2026-07-01",
  until: "2026-09-30",
} as const;

type Texts = Record<string, string>;

/** A way to compute the panel. */
export type Way = (on: Queryable, ledger: Ledger, tenant: string) => Promise<Panel>;

const bound = (n: number): string => `(($${n}::date)::timestamp at time zone '${ZONE}')`;
const LOCAL_MONTH = `to_char(paid_at at time zone '${ZONE}', 'YYYY-MM')`;

/** Returns handwritten statements; each reads exactly its own range of the index. */
function liveSql(table: string): Readonly<Record<keyof Panel, readonly [sql: string, from: string]>> {
  const rows = `from ${table} where tenant_id = $1 and paid_at >= ${bound(2)} and paid_at < ${bound(3)} and status <> 'cancelled'`;
  return {
    monthByCategory: [
      `select category, sum(amount)::text as total ${rows} group by category order by category collate "C"`,
      RANGES.month,
    ],
    lastTwelveMonths: [
      `select ${LOCAL_MONTH} as month, sum(amount)::text as total ${rows} group by 1 order by 1`,
      RANGES.twelve,
    ],
    yearToDate: [`select sum(amount)::text as total ${rows}`, RANGES.year],
    countOfMonth: [`select count(*)::text as n ${rows}`, RANGES.month],
    averageTicket: [`select round(avg(amount), 2)::text as average ${rows}`, RANGES.twelve],
    topOfQuarter: [
      `select category, sum(amount)::text as total ${rows} group by category order by sum(amount) desc limit 1`,
      RANGES.quarter,
    ],
  };
}

const DAY_AFTER = "2026-10-01";

/** Runs six statements over the expenses. */
export const liveSix: Way = async (on, { table }, tenant) => {
  const sql = liveSql(table);
  const ask = async (part: keyof Panel): Promise<Texts[]> => {
    const [text, from] = sql[part];
    return (await on.query<Texts>(text, [tenant, from, DAY_AFTER])).rows;
  };
  const first = async (part: keyof Panel, column: string): Promise<string> =>
    String((await ask(part))[0]?.[column]);
  return {
    monthByCategory: (await ask("monthByCategory")).map(({ category, total }) => `${category} ${total}`),
    lastTwelveMonths: (await ask("lastTwelveMonths")).map(({ month, total }) => `${month} ${total}`),
    yearToDate: await first("yearToDate", "total"),
    countOfMonth: await first("countOfMonth", "n"),
    averageTicket: await first("averageTicket", "average"),
    topOfQuarter: (await ask("topOfQuarter")).map(({ category, total }) => `${category} ${total}`).join(),
  };
};

/** Runs one statement over the expenses, and adds up the six totals from its rows. */
export const liveOne: Way = async (on, { table }, tenant) => {
  const { rows } = await on.query(
    `select ${LOCAL_MONTH} as month, category, sum(amount)::text as total, count(*)::text as n
     from ${table}
     where tenant_id = $1 and paid_at >= ${bound(2)} and paid_at < ${bound(3)} and status <> 'cancelled'
     group by 1, 2`,
    [tenant, RANGES.twelve, DAY_AFTER],
  );
  return addUp(rows.map(cellOf));
};

/** Runs six queries over the totals. */
export const rolledSix: Way = (on, { rollup }, tenant) =>
  sixTotals((query) => rollup.query(on, tenant, query));

/** Computes the panel from six queries over the totals of one tenant. */
export async function sixTotals(run: (query: RollupQuery) => Promise<readonly Total[]>): Promise<Panel> {
  const ask = async (part: keyof typeof RANGES, by: readonly ("month" | "category")[]): Promise<Cell[]> => {
    const rows = await run({ from: RANGES[part], to: RANGES.until, by });
    return rows.map(cellOf);
  };
  return {
    monthByCategory: byCategory(await ask("month", ["category"])),
    lastTwelveMonths: byMonth(await ask("twelve", ["month"])),
    yearToDate: money(sum(await ask("year", []), "total")),
    countOfMonth: String(sum(await ask("month", []), "n")),
    averageTicket: average(await ask("twelve", [])),
    topOfQuarter: top(await ask("quarter", ["category"])),
  };
}

/** Runs one query over the totals, and adds up the six totals from its rows. */
export const rolledOne: Way = async (on, { rollup }, tenant) => {
  const rows = await rollup.query(on, tenant, {
    from: RANGES.twelve,
    to: RANGES.until,
    by: ["month", "category"],
  });
  return addUp(rows.map(cellOf));
};

/** The totals of one month, of one category, of one category in one month, or of all expenses. */
interface Cell {
  /** For example `2026-09`. */
  readonly month: string;
  readonly category: string;
  /** Money in cents. */
  readonly total: bigint;
  readonly n: bigint;
}

function cellOf(row: Record<string, unknown>): Cell {
  return {
    month: String(row["month"]).slice(0, 7),
    category: String(row["category"]),
    total: cents(String(row["total"])),
    n: BigInt(String(row["n"])),
  };
}

function cents(text: string): bigint {
  const [whole = "", decimals = ""] = text.split(".");
  return BigInt(whole + decimals.padEnd(2, "0"));
}

function money(amount: bigint): string {
  const digits = amount.toString().padStart(3, "0");
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

function addUp(cells: readonly Cell[]): Panel {
  const since = (from: string): Cell[] => cells.filter(({ month }) => month >= from.slice(0, 7));
  return {
    monthByCategory: byCategory(since(RANGES.month)),
    lastTwelveMonths: byMonth(cells),
    yearToDate: money(sum(since(RANGES.year), "total")),
    countOfMonth: String(sum(since(RANGES.month), "n")),
    averageTicket: average(cells),
    topOfQuarter: top(since(RANGES.quarter)),
  };
}

function sum(cells: readonly Cell[], of: "total" | "n"): bigint {
  return cells.reduce((all, cell) => all + cell[of], 0n);
}

function grouped(cells: readonly Cell[], by: "month" | "category"): [string, bigint][] {
  const groups = new Map<string, bigint>();
  for (const cell of cells) groups.set(cell[by], (groups.get(cell[by]) ?? 0n) + cell.total);
  return [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function byCategory(cells: readonly Cell[]): string[] {
  return grouped(cells, "category").map(([category, total]) => `${category} ${money(total)}`);
}

function byMonth(cells: readonly Cell[]): string[] {
  return grouped(cells, "month").map(([month, total]) => `${month} ${money(total)}`);
}

function average(cells: readonly Cell[]): string {
  const n = sum(cells, "n");
  // Round half a cent up, as `round()` does in PostgreSQL.
  return money((2n * sum(cells, "total") + n) / (2n * n));
}

function top(cells: readonly Cell[]): string {
  const [first] = grouped(cells, "category").toSorted(([, a], [, b]) => (a > b ? -1 : 1));
  return first === undefined ? "" : `${first[0]} ${money(first[1])}`;
}
