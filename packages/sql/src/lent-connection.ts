import { SqlDeadlineError } from "./deadline-error.ts";
import { lend } from "./lend.ts";
import { close } from "./query-within.ts";
import type { Connectable, PooledConnection } from "./queryable.ts";

interface Emitter {
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
}

/**
 * Lends `work` a connection of a pool and releases it afterwards. Closes the connection instead when it broke or when
 * `work` called `onBroken`.
 */
export async function withLentConnection<T>(
  pool: Connectable,
  work: (connection: PooledConnection, onBroken: (error: Error) => void) => Promise<T>,
): Promise<T> {
  const connection = await lend(pool);
  let broken: Error | undefined;
  const onBroken = (error: Error): void => {
    broken ??= error;
  };
  // A lent connection that breaks between two queries emits an error, which ends the process if it has no listener.
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
