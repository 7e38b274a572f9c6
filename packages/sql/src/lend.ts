import type { Connectable, PooledConnection } from "./queryable.ts";

interface Emitter {
  on(event: "connect" | "error", listener: (client: Partial<Emitter>) => void): unknown;
}

const watched = new WeakSet<Connectable>();
const ignore = (): void => undefined;

/**
 * A connection of a pool. What a server sends with its greeting (that it stops, say) may arrive in one packet with it: before
 * whoever waits for the connection can listen for errors, and an error that nobody listens for ends the process. So every new
 * connection of the pool has a listener from the moment it is open. Its queries are rejected all the same.
 */
export function lend(pool: Connectable): Promise<PooledConnection> {
  if (!watched.has(pool)) {
    watched.add(pool);
    (pool as Partial<Emitter>).on?.("connect", (client) => void client.on?.("error", ignore));
  }
  return pool.connect();
}
