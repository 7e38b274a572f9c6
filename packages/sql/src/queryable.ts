/** A row as drivers hand it over. */
export type Row = Record<string, unknown>;

/** What a query answers. Drivers give more; this is what the packages need. */
export interface QueryResult<R> {
  readonly rows: R[];
  /** Rows that were changed or selected; not every driver says. */
  readonly rowCount?: number | null | undefined;
}

/**
 * Whatever takes SQL with numbered parameters (`$1`) and answers rows: a `Pool`, a `Client` or a `PoolClient` of
 * `pg`, a transaction of somebody else, another driver of the same shape.
 */
export interface Queryable {
  query<R extends Row = Row>(text: string, values?: unknown[]): Promise<QueryResult<R>>;
}

/** A connection that was taken from a pool. Releasing it with an error closes it instead of reusing it. */
export interface PooledConnection extends Queryable {
  release(error?: Error | boolean): void;
}

/** A pool: every `connect()` lends a connection of its own. */
export interface Connectable {
  connect(): Promise<PooledConnection>;
}

/** A pool, or one connection. */
export type Database = Queryable | Connectable;

/**
 * Whether something lends connections. A single `pg` client has `connect()` too, which opens it: it is told apart by
 * the methods that only a client has.
 */
export function isPool(db: Database): db is Connectable {
  const seen = db as Partial<Record<"connect" | "release" | "escapeIdentifier", unknown>>;
  return (
    typeof seen.connect === "function" &&
    typeof seen.release !== "function" &&
    typeof seen.escapeIdentifier !== "function"
  );
}
