/** A row as drivers return it. */
export type Row = Record<string, unknown>;

/** The parts of a driver's result that the packages need. */
export interface QueryResult<R> {
  readonly rows: R[];
  /** Number of rows changed or selected; some drivers do not set it. */
  readonly rowCount?: number | null | undefined;
}

/**
 * Any object that takes SQL with numbered parameters (`$1`) and returns rows: a `pg` `Pool`, `Client` or `PoolClient`, a
 * transaction that the caller opened, or another driver with the same method.
 */
export interface Queryable {
  query<R extends Row = Row>(text: string, values?: unknown[]): Promise<QueryResult<R>>;
}

/** A connection from a pool. Releasing it with an error closes it. */
export interface PooledConnection extends Queryable {
  release(error?: Error | boolean): void;
}

/** A pool: each `connect()` lends one connection. */
export interface Connectable {
  connect(): Promise<PooledConnection>;
}

/** A pool, or one connection. */
export type Database = Queryable | Connectable;

/**
 * Returns whether `db` is a pool. A single `pg` client also has `connect()`, which opens it, so this function checks for
 * methods that only a client has.
 */
export function isPool(db: Database): db is Connectable {
  const seen = db as Partial<Record<"connect" | "release" | "escapeIdentifier", unknown>>;
  return (
    typeof seen.connect === "function" &&
    typeof seen.release !== "function" &&
    typeof seen.escapeIdentifier !== "function"
  );
}

const originals = new WeakMap<Database, Database>();

/** Returns the pool or connection inside a wrapper from `bounded()`, and any other value unchanged. */
export function original<D extends Database>(db: D): D {
  return (originals.get(db) as D | undefined) ?? db;
}

/** Records which pool or connection a wrapper stands for. */
export function standsFor<D extends Database>(stand: D, db: D): D {
  originals.set(stand, original(db));
  return stand;
}
