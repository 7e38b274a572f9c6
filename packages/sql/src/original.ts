import type { Database } from "./queryable.ts";

const originals = new WeakMap<Database, Database>();

/** The pool or connection behind one that `bounded()` has made; any other one is its own. */
export function original<D extends Database>(db: D): D {
  return (originals.get(db) as D | undefined) ?? db;
}

/** Notes what stands for a pool or connection. */
export function standsFor<D extends Database>(stand: D, db: D): D {
  originals.set(stand, original(db));
  return stand;
}
