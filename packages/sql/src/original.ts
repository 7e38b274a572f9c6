import type { Database } from "./queryable.ts";

const originals = new WeakMap<Database, Database>();

/** Returns the pool or connection behind a wrapper of `bounded()`, and any other value unchanged. */
export function original<D extends Database>(db: D): D {
  return (originals.get(db) as D | undefined) ?? db;
}

/** Records which pool or connection a wrapper stands for. */
export function standsFor<D extends Database>(stand: D, db: D): D {
  originals.set(stand, original(db));
  return stand;
}
