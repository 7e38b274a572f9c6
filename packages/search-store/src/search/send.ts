import { isPool } from "@svc/sql";
import { namesTenants, query, queryAs } from "../access.ts";
import type { ResolvedOptions } from "../options.ts";
import type { HitRow, Statement } from "../sql/search.ts";

/**
 * On a connection of a pool the statement names the tenant to row security by itself. One connection of the caller's may be
 * inside of a transaction that has another tenant, which must not be changed behind its back; and a database that names
 * tenants itself refuses a statement that does.
 */
export async function sendSearch(
  options: ResolvedOptions,
  tenant: string,
  { text, values }: Statement,
): Promise<HitRow[]> {
  const alone = options.rowSecurity === undefined || !namesTenants(options.db);
  const { rows } =
    isPool(options.db) && alone
      ? await query<HitRow>(options.db, text, values)
      : await queryAs<HitRow>(options, tenant, text, values);
  return rows;
}
