import type { SearchStoreOptions } from "@svc/search-store";
import type pg from "pg";

/** Something with the extension, and nobody in it. */
export interface Place extends AsyncDisposable {
  readonly kind: "server" | "embedded";
  /** Which one it is, its versions and its settings, for people. */
  readonly about: readonly string[];
  /** A connection, or the one there is; closed with the place. */
  connect(): Promise<Connection>;
  /** Keeps the planner from sorting where an index gives the order, for connections that are open. */
  preferApproximate(): Promise<void>;
}

/** What takes a statement. */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: Record<string, unknown>[] }>;
}

/** What both sides are given. */
export interface Connection extends Queryable {
  /** What a store takes: several connections where there are some. */
  readonly database: SearchStoreOptions["db"];
  /** A connection of the driver, for streams; undefined where there are none. */
  readonly pool: pg.Pool | undefined;
}

/** Server and extension, in a few words. */
export async function versionOf(db: Queryable): Promise<string> {
  const { rows } = await db.query(
    `select format('PostgreSQL %s, pgvector %s', current_setting('server_version'), extversion) as version
     from pg_extension where extname = 'vector'`,
  );
  return String(rows[0]?.version);
}
