import type { SearchStoreOptions } from "@svc/search-store";
import type pg from "pg";

/** An empty database with pgvector. */
export interface Place extends AsyncDisposable {
  readonly kind: "server" | "embedded";
  /** The URL of the database; undefined for an embedded one. */
  readonly url: string | undefined;
  /** Lines to print: name, versions and settings. */
  readonly about: readonly string[];
  /** Opens a connection, or returns the only one of an embedded database. It is closed with the database. */
  connect(): Promise<Connection>;
  /** Disables sorting on open connections, so that the planner uses any index that provides the order. */
  preferApproximate(): Promise<void>;
}

/** Runs statements. */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: Record<string, unknown>[] }>;
}

/** A connection that runs SQL, with the options of a search store for the same database. */
export interface Connection extends Queryable {
  /** The `db` option of a search store, with several connections if possible. */
  readonly database: SearchStoreOptions["db"];
  /** A pool of `pg`, for COPY streams; undefined for the embedded server. */
  readonly pool: pg.Pool | undefined;
}

/** Returns the versions of server and extension. */
export async function versionOf(db: Queryable): Promise<string> {
  const { rows } = await db.query(
    `select format('PostgreSQL %s, pgvector %s', current_setting('server_version'), extversion) as version
     from pg_extension where extname = 'vector'`,
  );
  return String(rows[0]?.version);
}
