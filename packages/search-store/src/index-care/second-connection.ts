import { type Database, isPool } from "@svc/sql";

/**
 * Returns whether a statement can run on a second connection beside a transaction, which concurrent index builds need. The
 * embedded database and a pool of one have no second connection.
 */
export function hasSecondConnection(db: Database): boolean {
  if (!isPool(db)) return false;
  const { embedded, options } = db as { embedded?: unknown; options?: { readonly max?: unknown } | null };
  return embedded !== true && options?.max !== 1;
}
