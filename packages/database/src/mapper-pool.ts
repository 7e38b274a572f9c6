import { type Connectable, isPool, type Queryable, TransactionError } from "@svc/sql";
import type { Pool } from "pg";
import { isTransactionControl, savepoints, type Send } from "./mapper-savepoints.ts";

interface MapperClient {
  query(statement: unknown, values?: unknown[]): Promise<unknown>;
  release(error?: Error | boolean): void;
}

class MapperPool {
  // Drizzle recognizes a pool by the name of its class, which a bundler may have changed.
  static {
    Object.defineProperty(this, "name", { value: "MapperPool" });
  }

  /** Kysely copies these for its own connections, of which it opens none. */
  readonly options: object = {};
  readonly connect: () => Promise<MapperClient>;

  constructor(connect: () => Promise<MapperClient>) {
    this.connect = connect;
  }

  async query(statement: unknown, values?: unknown[]): Promise<unknown> {
    if (isTransactionControl(statement)) {
      throw new TransactionError(
        "a transaction needs a connection of its own: use transaction() of the data mapper",
      );
    }
    const client = await this.connect();
    try {
      return await client.query(statement, values);
    } finally {
      client.release();
    }
  }

  /** Does nothing: the database is closed by its `stop()`. */
  async end(): Promise<void> {}
}

/**
 * Returns a pool for a data mapper such as Kysely or Drizzle, with the members `connect()`, `query()`, `end()` and `options` of
 * a `pg` pool. Connections have the deadlines of the database and throw its problems; `end()` closes nothing.
 *
 * @param on the database; or the `tx` of `withTenant()` or `transaction()`, so that all statements of the mapper belong to that
 *   transaction, and its own transactions become savepoints
 * @returns a pool whose `query()` rejects cursors, streams, and statements that begin or end a transaction. Inside a transaction,
 *   its connections reject `commit` and `rollback` of that transaction, options of a transaction, and a second transaction at
 *   the same time
 */
export function mapperPool(on: Connectable | Queryable): Pool {
  return new MapperPool(isPool(on) ? () => lendFrom(on) : within(on)) as unknown as Pool;
}

async function lendFrom(pool: Connectable): Promise<MapperClient> {
  const connection = await pool.connect();
  return {
    query: withoutCursors((statement, values) => connection.query(statement as string, values)),
    release: (error) => connection.release(error),
  };
}

function within(tx: Queryable): () => Promise<MapperClient> {
  const lend = savepoints((statement, values) => tx.query(statement as string, values));
  return async () => {
    const { query, release } = lend();
    return { query: withoutCursors(query), release };
  };
}

function withoutCursors(send: Send): Send {
  return async (statement, values) => {
    const { submit } = Object(statement) as { readonly submit?: unknown };
    if (typeof submit === "function") {
      throw new TypeError("mapperPool() sends no cursors and streams; run them on the pool of the database");
    }
    return send(statement, values);
  };
}
