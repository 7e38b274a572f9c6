import { isPool } from "@svc/sql";
import { namesTenants, query, queryAs } from "../access.ts";
import type { ResolvedOptions } from "../options.ts";
import type { HitRow, Statement } from "../sql/search.ts";

/**
 * Sends a search. On a pool, the statement itself sets the tenant for row security. On the caller's connection it must not,
 * since a transaction there may have another tenant; and a database that sets tenants itself rejects a statement that
 * does.
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
