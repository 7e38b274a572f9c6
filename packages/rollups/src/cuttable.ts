import { type Database, isPool, type PooledConnection, withMethods } from "@svc/sql";

/** A database whose connections can be closed while a statement waits for the server. */
export interface Cuttable {
  readonly db: Database;
  /** Closes the connections in use. Their statements reject. */
  cut(this: void): void;
}

/** Returns a database that lends the connections of a pool. A single connection belongs to the caller and is not closed. */
export function cuttable(db: Database): Cuttable {
  if (!isPool(db)) return { db, cut: () => undefined };
  const used = new Set<() => void>();

  async function connect(): Promise<PooledConnection> {
    const connection = await (db as { connect(): Promise<PooledConnection> }).connect();
    const release = (error?: Error | boolean): void => {
      // A connection that was cut has been released.
      if (used.delete(close)) connection.release(error);
    };
    const close = (): void => release(new Error("the service stops"));
    used.add(close);
    return withMethods(connection, { release });
  }

  return {
    db: withMethods(db, { connect }),
    cut: () => {
      for (const close of used) close();
    },
  };
}
