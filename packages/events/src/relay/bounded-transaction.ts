import { withDeadline } from "@svc/resilience";
import {
  type Connectable,
  type Database,
  isPool,
  lend,
  type PooledConnection,
  type Queryable,
  withTransaction,
} from "@svc/sql";

interface Emitter {
  on(event: "error", listener: (error: Error) => void): unknown;
}

// The server's part of the deadline, so that it stops before the relay gives up waiting.
const SERVERS_SHARE = 0.9;

/**
 * Runs a transaction that ends within `ms`, even if the database hangs: then it closes the pooled connection, which
 * frees its place in the pool. The planner settings choose the plan of a large table, independent of its statistics.
 */
export function boundedTransaction<T>(
  db: Database,
  ms: number,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  const settings = {
    statement_timeout: String(Math.max(1, Math.floor(ms * SERVERS_SHARE))),
    enable_seqscan: "off",
    enable_bitmapscan: "off",
    jit: "off",
  };
  return withDeadline(ms, (signal) =>
    withTransaction(isPool(db) ? lentUntil(signal, db) : db, work, { isolation: "read committed", settings }),
  );
}

function lentUntil(signal: AbortSignal, pool: Connectable): Connectable {
  return {
    async connect() {
      const connection = await lend(pool);
      if (!signal.aborted) return guarded(connection, signal);
      connection.release();
      throw signal.reason;
    },
  };
}

function guarded(connection: PooledConnection, signal: AbortSignal): PooledConnection {
  let released = false;
  const release = (error?: Error | boolean): void => {
    if (released) return;
    released = true;
    signal.removeEventListener("abort", cut);
    connection.release(error);
  };
  const cut = (): void => release(new Error("the time of a relay's transaction is up"));
  signal.addEventListener("abort", cut, { once: true });
  const emitter = connection as Partial<Emitter>;
  return {
    query: (text, values) => connection.query(text, values),
    release,
    // Without an error listener a connection that breaks between two statements would end the process.
    ...(emitter.on === undefined
      ? {}
      : {
          on: emitter.on.bind(connection),
          removeListener: (connection as { removeListener?: () => void }).removeListener?.bind(connection),
        }),
  };
}
