import { type Database, isPool } from "@svc/sql";

/**
 * Whether a statement can run beside a transaction: only then an index can be made or dropped concurrently. The embedded
 * database lends one connection, and so does a pool of one.
 */
export function hasSecondConnection(db: Database): boolean {
  if (!isPool(db)) return false;
  const { embedded, options } = db as { embedded?: unknown; options?: { readonly max?: unknown } | null };
  return embedded !== true && options?.max !== 1;
}
