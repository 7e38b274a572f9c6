import { literal } from "@svc/sql";
import { query } from "../access.ts";
import { checkWhole } from "../checks.ts";
import { searchError } from "../errors.ts";
import type { ResolvedOptions } from "../options.ts";

/** A tenant and its number of chunks. */
export type TenantSize = { readonly tenant: string; readonly chunks: number };

/**
 * Returns the tenants with at least this many chunks, by name.
 *
 * @throws SearchError `ERR_SVC_SEARCH_INDEX` if row security hides the tenants
 */
export async function tenantsOfAtLeast(
  options: ResolvedOptions,
  chunks: number,
): Promise<readonly TenantSize[]> {
  await refuseHidden(options);
  const countTenants = `
select tenant_id as tenant, count(*)::float8 as chunks from ${options.quotedTable}
group by tenant_id having count(*) >= $1::bigint order by tenant_id`;
  return (await query<TenantSize>(options.db, countTenants, [chunks])).rows;
}

/**
 * Returns the tenants with the most chunks, the largest first. Reads the whole primary key.
 *
 * @param limit number of tenants, 1 to 1,000
 * @throws SearchError `ERR_SVC_SEARCH_ARGUMENT`; `ERR_SVC_SEARCH_INDEX` if row security hides the tenants
 */
export async function largestTenants(
  options: ResolvedOptions,
  limit: number,
): Promise<readonly TenantSize[]> {
  checkWhole(limit, "limit", 1, 1000);
  await refuseHidden(options);
  const selectLargest = `
select tenant_id as tenant, count(*)::float8 as chunks from ${options.quotedTable}
group by tenant_id order by chunks desc, tenant_id limit $1::int`;
  return (await query<TenantSize>(options.db, selectLargest, [limit])).rows;
}

async function refuseHidden({ db, quotedTable }: ResolvedOptions): Promise<void> {
  const selectHidden = `select row_security_active(${literal(quotedTable)}) as hidden`;
  const [row] = (await query<{ hidden: boolean }>(db, selectHidden)).rows;
  if (row?.hidden !== true) return;
  throw searchError(
    "ERR_SVC_SEARCH_INDEX",
    "row security hides the tenants from this database role: use a role with BYPASSRLS",
  );
}
