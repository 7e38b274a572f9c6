import type { Queryable } from "@svc/sql";

// Advisory locks until the end of the transaction. Ingests share the lock of the tenant; its deletion holds it alone.
const LOCK_TENANT = "select pg_advisory_xact_lock(hashtextextended($1, 0))";
const SHARE_TENANT = "select pg_advisory_xact_lock_shared(hashtextextended($1, 0))";
const LOCK_DOCUMENT = `
select pg_advisory_xact_lock_shared(hashtextextended($1, 0)), pg_advisory_xact_lock(hashtextextended($2, 0))`;

/** Waits until no ingest of a tenant runs, and excludes others. */
export async function lockTenant(tx: Queryable, table: string, tenant: string): Promise<void> {
  await tx.query(LOCK_TENANT, [key(table, tenant)]);
}

/** Excludes the deletion of a tenant. */
export async function shareTenant(tx: Queryable, table: string, tenant: string): Promise<void> {
  await tx.query(SHARE_TENANT, [key(table, tenant)]);
}

/**
 * Excludes the deletion of a tenant, and other changes of one document. It is a statement of its own, so that the next one
 * sees what the previous holder committed.
 */
export async function lockDocument(
  tx: Queryable,
  table: string,
  tenant: string,
  documentId: string,
): Promise<void> {
  await tx.query(LOCK_DOCUMENT, [key(table, tenant), key(table, tenant, documentId)]);
}

/** JSON keeps the parts apart, since they may contain spaces and quotes. */
function key(...parts: readonly string[]): string {
  return `svc/search/${JSON.stringify(parts)}`;
}
