import type { Queryable } from "@svc/sql";
import { categories } from "./expense.ts";
import { receipts } from "./demo-receipts.ts";

export const demoTenants = ["harbour-cafe", "nordic-bikes", "stone-and-leaf"] as const;

/** The number of expenses of a tenant in each month from July 2025 to June 2026. */
const counts = [6, 7, 10, 11, 13, 15, 6, 8, 10, 10, 12, 12];

/** For each category: how many of ten expenses belong to it, the lowest amount, and the range above it, in cents. */
const habits = {
  travel: { of10: 2, least: 4_500, more: 38_000 },
  meals: { of10: 3, least: 900, more: 11_000 },
  office: { of10: 2, least: 1_200, more: 19_000 },
  software: { of10: 2, least: 2_900, more: 12_000 },
  other: { of10: 1, least: 1_500, more: 26_000 },
} as const;

/** Spending of each month in percent of an average month: low in summer, high at the end of the year. */
const seasons = [85, 70, 100, 115, 130, 165, 75, 90, 105, 110, 125, 140];

/**
 * Writes a year of expenses into the empty table, the same on every machine.
 *
 * @returns the number of rows written
 */
export async function seedDemoData(db: Queryable): Promise<number> {
  const ten = categories.flatMap((category) => Array<string>(habits[category].of10).fill(category));
  const { rowCount } = await db.query(
    `
insert into expenses (id, tenant, category, amount, note, paid_at)
select
  md5(concat_ws('/', tenant, month, n)),
  tenant,
  category,
  round((least + dice % more) * ($6::int[])[month + 1] / 10000.0, 2),
  notes ->> (dice % jsonb_array_length(notes)),
  (timestamp '2025-07-01 09:00:00' + make_interval(months => month, days => n * 2, hours => t::int))
    at time zone 'UTC'
from unnest($1::text[]) with ordinality as tenants (tenant, t)
cross join unnest($3::int[]) with ordinality as counts (count, place)
cross join lateral (select place::int - 1 as month) as numbered
cross join generate_series(1, count) as n
cross join lateral (
  -- Fixed for good by what it is made of.
  select ('x' || left(md5(concat_ws('-', month, n, tenant)), 7))::bit(28)::int as dice
) as dice
cross join lateral (select ($2::text[])[1 + dice / 1000 % array_length($2::text[], 1)] as category) as chosen
join jsonb_to_recordset($4::jsonb) as habit (name text, least int, more int) on name = category
join jsonb_to_recordset($5::jsonb) as noted (of_category text, notes jsonb) on of_category = category`,
    [
      [...demoTenants],
      ten,
      counts,
      JSON.stringify(categories.map((name) => ({ name, ...habits[name] }))),
      JSON.stringify(
        categories.map((category) => ({
          of_category: category,
          notes: receipts[category].map(({ note }) => note),
        })),
      ),
      seasons,
    ],
  );
  return rowCount ?? 0;
}
