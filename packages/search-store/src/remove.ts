import { sqlStateOf } from "@svc/sql";
import { queryAs, transactionAs } from "./access.ts";
import { dropTenantIndex, type TenantIndex, tenantIndexOf } from "./index-care/tenant-index.ts";
import { documentLock, tenantLock } from "./locks.ts";
import type { ResolvedOptions } from "./options.ts";
import { countRows, deleteDocumentRows, deleteTenantRows, LOCK_DOCUMENT, LOCK_TENANT } from "./sql/chunks.ts";

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
  const { table } = options;
  return transactionAs(options, tenant, async (tx) => {
    await tx.query(LOCK_DOCUMENT, [tenantLock(table, tenant), documentLock(table, tenant, documentId)]);
    return (await tx.query(deleteDocumentRows(options), [tenant, documentId])).rowCount ?? 0;
  });
}

/**
 * Deletes all chunks of a tenant and its approximate index (SEARCH-2). If only the index's owner may drop it, leaves it to
 * `maintainIndexes()`.
 */
export async function deleteTenant(options: ResolvedOptions, tenant: string): Promise<number> {
  const deleted = await transactionAs(options, tenant, async (tx) => {
    await tx.query(LOCK_TENANT, [tenantLock(options.table, tenant)]);
    return (await tx.query(deleteTenantRows(options), [tenant])).rowCount ?? 0;
  });
  try {
    await dropTenantIndex(options, tenant);
  } catch (error) {
    if (sqlStateOf(error) !== INSUFFICIENT_PRIVILEGE) throw error;
  }
  return deleted;
}

export async function statsOf(options: ResolvedOptions, tenant: string): Promise<Stats> {
  const { rows } = await queryAs<{ chunks: number; documents: number }>(options, tenant, countRows(options), [
    tenant,
  ]);
  const { chunks, documents } = rows[0] ?? { chunks: 0, documents: 0 };
  const index = await tenantIndexOf(options, tenant);
  return index === undefined ? { chunks, documents } : { chunks, documents, index };
}
