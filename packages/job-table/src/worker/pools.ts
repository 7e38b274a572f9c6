import { type Connectable, type Database, isPool } from "@svc/sql";

// Two for a worker, and as many as that for its handlers and everybody else.
const SPARE = 4;

/** Whether a pool is large enough to lend a worker a second connection for good. */
export function isLarge(pool: Connectable): boolean {
  const { options } = pool as { readonly options?: { readonly max?: unknown } };
  return typeof options?.max === "number" && options.max >= SPARE + 2;
}

/** The pool that can lend a connection which tells notifications; undefined where there is none. */
export function listeningPool(db: Database): Connectable | undefined {
  // A database of `@svc/database` lends connections that do not; its pool does.
  const { pool } = db as { readonly pool?: unknown };
  if (typeof pool === "object" && pool !== null && isPool(pool as Database)) return pool as Connectable;
  return isPool(db) ? db : undefined;
}
