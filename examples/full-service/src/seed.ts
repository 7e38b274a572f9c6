import type { Queryable } from "@svc/sql";
import { categories } from "./expense.ts";

export const demoTenants = ["harbour-cafe", "nordic-bikes", "stone-and-leaf"] as const;

/** From July 2025 to June 2026. */
const months = 12;
const perMonth = 10;

/**
 * Writes a year of expenses into the empty table, the same on every machine.
 *
 * @returns how many rows were written
 */
export async function seedDemoData(db: Queryable): Promise<number> {
  const { rowCount } = await db.query(
    `
insert into expenses (id, tenant, category, amount, note, paid_at)
select
  md5(concat_ws('/', tenant, month, n)),
  tenant,
  ($2::text[])[1 + (month * 7 + n * 3 + t) % array_length($2::text[], 1)],
  5 + ((month * 131 + n * 977 + t * 389) % 40000) / 100.0,
  'demo expense ' || n || ' of ' || tenant,
  (timestamp '2025-07-01 09:00:00' + make_interval(months => month, days => n * 2, hours => t::int))
    at time zone 'UTC'
from unnest($1::text[]) with ordinality as tenants (tenant, t)
cross join generate_series(0, $3::int - 1) as month
cross join generate_series(1, $4::int) as n`,
    [[...demoTenants], [...categories], months, perMonth],
  );
  return rowCount ?? 0;
}
