import { type Connectable, type Database, isPool } from "@svc/sql";

// Two connections for a worker, and this many for its handlers and other callers.
const SPARE = 4;

/** Whether a pool is large enough to lend a worker a second connection permanently. */
export function isLarge(pool: Connectable): boolean {
  return (sizeOf(pool) ?? 0) >= SPARE + 2;
}

/** Returns the largest number of connections of a pool; undefined when it is unknown. */
export function sizeOf(pool: Connectable): number | undefined {
  const { options } = pool as { readonly options?: { readonly max?: unknown } };
  return typeof options?.max === "number" ? options.max : undefined;
}

/** Returns the pool whose connections emit notifications; undefined if there is none. */
export function listeningPool(db: Database): Connectable | undefined {
  // A database of `@svc/database` lends wrapped connections without notifications; its inner pool has them.
  const { pool } = db as { readonly pool?: unknown };
  if (typeof pool === "object" && pool !== null && isPool(pool as Database)) return pool as Connectable;
  return isPool(db) ? db : undefined;
}
