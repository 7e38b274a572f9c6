import { withDeadline } from "@svc/resilience";
import { type Connectable, type Database, isPool, lend, type Queryable, type Row } from "@svc/sql";
import type { Emitter, Session } from "./session.ts";

/** Creates a session that sends each statement on any connection of the table's database. */
export function createSharedSession(db: Database, timeoutMs: number): Session {
  let last: Promise<unknown> = Promise.resolve();

  // On a single connection send the next statement only after the previous answer, so that its deadline does not
  // include waiting.
  async function inTurn<R extends Row>(
    connection: Queryable,
    signal: AbortSignal,
    text: string,
    values: unknown[],
  ): Promise<R[]> {
    await last.catch(() => undefined);
    signal.throwIfAborted();
    const answer = connection.query<R>(text, values);
    last = answer;
    return (await answer).rows;
  }

  return {
    queues: false,
    isIdle: false,
    query: <R extends Row>(_name: string, text: string, values: unknown[]) =>
      withDeadline(timeoutMs, (signal) =>
        isPool(db) ? onLent<R>(db, signal, text, values) : inTurn<R>(db, signal, text, values),
      ),
    close: () => undefined,
  };
}

/** Sends a statement on a pooled connection, which is closed at the deadline and so returns its place to the pool. */
async function onLent<R extends Row>(
  pool: Connectable,
  signal: AbortSignal,
  text: string,
  values: unknown[],
): Promise<R[]> {
  const connection = await lend(pool);
  if (signal.aborted) {
    connection.release();
    signal.throwIfAborted();
  }
  const emitter = connection as Partial<Emitter>;
  let released = false;
  const give = (error?: Error): void => {
    if (released) return;
    released = true;
    connection.release(error);
  };
  const broken = (): void => give(new Error("the connection of a worker"));
  // Without an error listener a broken connection would end the process; a closed one keeps the listener.
  emitter.on?.("error", broken);
  signal.addEventListener("abort", broken, { once: true });
  try {
    const { rows } = await connection.query<R>(text, values);
    emitter.removeListener?.("error", broken);
    give();
    return rows;
  } catch (error) {
    broken();
    throw error;
  } finally {
    signal.removeEventListener("abort", broken);
  }
}
