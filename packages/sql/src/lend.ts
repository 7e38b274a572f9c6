import { OptionError } from "./errors.ts";
import { original } from "./original.ts";
import type { Connectable, PooledConnection } from "./queryable.ts";

interface Emitter {
  on(event: "connect" | "error", listener: (client: object) => void): unknown;
  listeners(event: "error"): readonly unknown[];
}

const watched = new WeakSet<Connectable>();
const heard = new WeakSet<object>();
const ignore = (): void => undefined;

/** Without a listener the error of a connection that breaks ends the process. Its queries are rejected in any case. */
function hear(client: object): void {
  if (heard.has(client)) return;
  heard.add(client);
  const emitter = client as Partial<Emitter>;
  // A pool may lend one connection in another wrapper every time.
  if (emitter.listeners?.("error").includes(ignore) === false) emitter.on?.("error", ignore);
}

/**
 * Lends a connection of a pool that has a listener for errors. What a server sends with its greeting (that it stops, say) may
 * arrive in one packet with it, before the caller has the connection: so a new connection has the listener as soon as it is open.
 *
 * @throws OptionError when the pool lends something else than a connection; what the pool throws
 */
export async function lend(pool: Connectable): Promise<PooledConnection> {
  const own = original(pool);
  if (!watched.has(own)) {
    watched.add(own);
    (pool as Partial<Emitter>).on?.("connect", hear);
  }
  const connection = await pool.connect();
  if (typeof connection?.query !== "function" || typeof connection.release !== "function") {
    throw new OptionError("connect() must lend a connection with query() and release()");
  }
  hear(original(connection));
  return connection;
}
