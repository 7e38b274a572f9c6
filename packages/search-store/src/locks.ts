import type { Queryable } from "@svc/sql";

// Advisory locks until the end of the transaction. Ingests share the tenant's lock; deleting the tenant takes it
// exclusively.
const LOCK_TENANT = "select pg_advisory_xact_lock(hashtextextended($1, 0))";
const SHARE_TENANT = "select pg_advisory_xact_lock_shared(hashtextextended($1, 0))";
const LOCK_DOCUMENT = `
select pg_advisory_xact_lock_shared(hashtextextended($1, 0)), pg_advisory_xact_lock(hashtextextended($2, 0))`;

/** Waits for running ingests of a tenant and blocks new ones. */
export async function lockTenant(tx: Queryable, table: string, tenant: string): Promise<void> {
  await tx.query(LOCK_TENANT, [key(table, tenant)]);
}

/** Blocks the deletion of a tenant. */
export async function shareTenant(tx: Queryable, table: string, tenant: string): Promise<void> {
  await tx.query(SHARE_TENANT, [key(table, tenant)]);
}

/**
 * Blocks the deletion of a tenant, and other changes to one document. Must be a separate statement, so that the next
 * statement sees what the previous lock holder committed.
 */
export async function lockDocument(
  tx: Queryable,
  table: string,
  tenant: string,
  documentId: string,
): Promise<void> {
  await tx.query(LOCK_DOCUMENT, [key(table, tenant), key(table, tenant, documentId)]);
}

/** Joins the parts as JSON, so that parts with spaces or quotes remain distinct. */
function key(...parts: readonly string[]): string {
  return `svc/search/${JSON.stringify(parts)}`;
}
