import { withDeadline } from "@svc/resilience";
import { type Connectable, type Database, isPool, lend, type Queryable, type Row } from "@svc/sql";
import type { Emitter, Session } from "./session.ts";

/** Any connection of the table's database, for every statement. */
export function createSharedSession(db: Database, timeoutMs: number): Session {
  let last: Promise<unknown> = Promise.resolve();

  // What a single connection has not answered yet stands before all that comes later: nothing is put behind it.
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

/** Sends a statement on a connection of a pool, which is closed when the time is up: the pool has it back in any case. */
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
  // Without a listener a connection that breaks would end the process; one that is closed keeps it.
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
