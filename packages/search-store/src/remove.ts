import { sqlStateOf } from "@svc/sql";
import { queryAs, transactionAs } from "./access.ts";
import { dropTenantIndex, type TenantIndex, tenantIndexOf } from "./index-care/tenant-index.ts";
import { lockDocument, lockTenant } from "./locks.ts";
import type { ResolvedOptions } from "./options.ts";

export interface Stats {
  readonly chunks: number;
  readonly documents: number;
  readonly index?: TenantIndex | undefined;
}

const INSUFFICIENT_PRIVILEGE = "42501";

/** Deletes the chunks of a document (SEARCH-2). Waits for a running ingest of the document. */
export function deleteDocument(
  options: ResolvedOptions,
  tenant: string,
  documentId: string,
): Promise<number> {
  const { table, quotedTable } = options;
  const statement = `delete from ${quotedTable} where tenant_id = $1 and document_id = $2`;
  return transactionAs(options, tenant, async (tx) => {
    await lockDocument(tx, table, tenant, documentId);
    return (await tx.query(statement, [tenant, documentId])).rowCount ?? 0;
  });
}

/**
 * Deletes all chunks of a tenant and its approximate index (SEARCH-2). If this role cannot drop the index,
 * `maintainIndexes()` drops it later.
 */
export async function deleteTenant(options: ResolvedOptions, tenant: string): Promise<number> {
  const { table, quotedTable } = options;
  const deleted = await transactionAs(options, tenant, async (tx) => {
    await lockTenant(tx, table, tenant);
    return (await tx.query(`delete from ${quotedTable} where tenant_id = $1`, [tenant])).rowCount ?? 0;
  });
  try {
    await dropTenantIndex(options, tenant);
  } catch (error) {
    if (sqlStateOf(error) !== INSUFFICIENT_PRIVILEGE) throw error;
  }
  return deleted;
}

export async function statsOf(options: ResolvedOptions, tenant: string): Promise<Stats> {
  const statement = `
select count(*)::int as chunks, count(distinct document_id)::int as documents from ${options.quotedTable}
where tenant_id = $1`;
  type Counts = { chunks: number; documents: number };
  const { rows } = await queryAs<Counts>(options, tenant, statement, [tenant]);
  const counts = rows[0] ?? { chunks: 0, documents: 0 };
  const index = await tenantIndexOf(options, tenant);
  return index === undefined ? counts : { ...counts, index };
}
