import type { SearchStoreOptions } from "@svc/search-store";
import type pg from "pg";

/** An empty database with the extension. */
export interface Place extends AsyncDisposable {
  readonly kind: "server" | "embedded";
  /** Lines to print: name, versions and settings. */
  readonly about: readonly string[];
  /** Opens a connection, or returns the only one; closed with the database. */
  connect(): Promise<Connection>;
  /** Keeps the planner from sorting if an index gives the order, on open connections. */
  preferApproximate(): Promise<void>;
}

/** Runs statements. */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: Record<string, unknown>[] }>;
}

/** The connections of both sides. */
export interface Connection extends Queryable {
  /** The connections for a store: several if possible. */
  readonly database: SearchStoreOptions["db"];
  /** A pool of the driver, for streams; undefined in process. */
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
