import type { Database } from "./queryable.ts";

const originals = new WeakMap<Database, Database>();

/** Returns the pool or connection that another one stands for; any other one is its own. */
export function original<D extends Database>(db: D): D {
  return (originals.get(db) as D | undefined) ?? db;
}

/** Records that `stand` wraps a pool or connection, and returns it. */
export function standsFor<D extends Database>(stand: D, db: Database): D {
  originals.set(stand, original(db));
  return stand;
}
