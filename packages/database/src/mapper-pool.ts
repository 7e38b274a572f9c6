import { ConfigurationError, fault } from "@svc/options";
import { type Connectable, isPool, isTransaction, type Queryable, TransactionError } from "@svc/sql";
import type { Pool } from "pg";
import { savepoints, type Send } from "./mapper-savepoints.ts";
import { isTransactionControl } from "./transaction-control.ts";

// Kysely sends this to cancel a statement. Inside a transaction, it would end the connection's own next statement or session.
const CANCEL = /^\s*select\s+pg_(?:cancel|terminate)_backend\(\d+\)\s*$/i;

interface MapperClient {
  query(statement: unknown, values?: unknown[]): Promise<unknown>;
  release(error?: Error | boolean): void;
}

class MapperPool {
  // Drizzle recognizes a pool by the name of its class, which a bundler may have changed.
  static {
    Object.defineProperty(this, "name", { value: "MapperPool" });
  }

  /** Kysely copies these options for its own connections, but opens none. */
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

  /** Does nothing: `stop()` closes the database. */
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
 * @throws ConfigurationError for anything other than a database and a connection with an open transaction
 */
export function mapperPool(on: Connectable | Queryable): Pool {
  return new MapperPool(connectOf(on)) as unknown as Pool;
}

function connectOf(on: Connectable | Queryable): () => Promise<MapperClient> {
  // TypeScript does not check the callers in JavaScript.
  if (Object(on) === on && isPool(on)) return () => lendFrom(on);
  if (isTransaction(on)) return () => within(on);
  const message =
    "must be a database, or the tx of withTenant() or transaction(): a connection with an open transaction";
  throw new ConfigurationError("mapperPool()", [fault("on", message)]);
}

async function lendFrom(pool: Connectable): Promise<MapperClient> {
  const connection = await pool.connect();
  return {
    query: withoutCursors((statement, values) => connection.query(statement as string, values)),
    release: (error) => connection.release(error),
  };
}

async function within(tx: Queryable): Promise<MapperClient> {
  const { query, release } = savepoints(tx);
  return {
    query: withoutCursors(async (statement, values) => {
      if (typeof statement === "string" && CANCEL.test(statement)) {
        throw new TransactionError(
          "a data mapper inside a transaction cannot cancel its statements: there is no second connection",
        );
      }
      return query(statement, values);
    }),
    release,
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
