import { SqlDeadlineError } from "./deadline-error.ts";
import { OptionError } from "./errors.ts";
import { type Connectable, original, type PooledConnection } from "./queryable.ts";

type OnError = (error: Error) => void;

interface Emitter {
  on(event: "connect", listener: (client: object) => void): unknown;
  on(event: "error", listener: OnError): unknown;
  removeListener(event: "error", listener: OnError): unknown;
  listeners(event: "error"): readonly unknown[];
}

const watched = new WeakSet<Connectable>();
const heard = new WeakSet<object>();
const ignore = (): void => undefined;

/**
 * Adds an error listener: without a listener, an error from a broken connection ends the process. The connection's queries
 * also reject with the error.
 */
function hear(client: object): void {
  if (heard.has(client)) return;
  heard.add(client);
  const emitter = client as Partial<Emitter>;
  // A pool may lend the same connection in a different wrapper each time.
  if (emitter.listeners?.("error").includes(ignore) === false) emitter.on?.("error", ignore);
}

/**
 * Gets a connection from a pool and gives it an error listener. One packet may contain the end of the handshake and an error
 * (from a server that shuts down, for example), so a new connection gets its listener as soon as it is open.
 *
 * @throws OptionError when `connect()` returns something other than a connection; errors from the pool unchanged
 */
export async function lend(pool: Connectable): Promise<PooledConnection> {
  const own = original(pool);
  if (!watched.has(own)) {
    watched.add(own);
    (pool as Partial<Emitter>).on?.("connect", hear);
  }
  const connection = await pool.connect();
  if (typeof connection?.query !== "function" || typeof connection.release !== "function") {
    throw new OptionError("connect() must return a connection with query() and release()");
  }
  hear(original(connection));
  return connection;
}

/**
 * Runs `work` with a pool connection and releases the connection afterwards. Closes the connection instead when it broke or
 * when `work` called `onBroken`.
 *
 * @throws the errors of `work` and of `lend`
 */
export async function withLentConnection<T>(
  pool: Connectable,
  work: (connection: PooledConnection, onBroken: OnError) => Promise<T>,
): Promise<T> {
  const connection = await lend(pool);
  let broken: Error | undefined;
  const onBroken: OnError = (error) => {
    broken ??= error;
  };
  const emitter = connection as Partial<Emitter>;
  emitter.on?.("error", onBroken);
  try {
    return await work(connection, onBroken);
  } finally {
    emitter.removeListener?.("error", onBroken);
    if (broken instanceof SqlDeadlineError) close(connection, broken);
    else connection.release(broken);
  }
}

/** Closes a pool connection and destroys its socket, since a frozen server would not close it. */
export function close(connection: PooledConnection, error: Error): void {
  connection.release(error);
  (connection as Partial<WithSocket>).connection?.stream?.destroy();
}

interface WithSocket {
  readonly connection?: { readonly stream?: { destroy(): void } };
}
