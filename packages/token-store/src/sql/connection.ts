import { BreakerOpenError, createBreaker, DeadlineError, withDeadline } from "@svc/resilience";
import {
  type Connectable,
  isConnectionError,
  isPool,
  lend,
  type PooledConnection,
  type Row,
  sqlStateOf,
} from "@svc/sql";
import type { ResolvedOptions } from "./options.ts";

/** Sends statements, each within the time that a command has, and not at all to a database that does not answer. */
export interface Connection {
  /** Runs a statement that reads, and answers its first row. */
  read(sql: string): Promise<Row>;
  /** Runs a statement that writes; again on another connection when its own broke, so it must be repeatable. */
  write(sql: string): Promise<Row>;
  /** As `read`, whatever was seen of the database before. */
  probe(sql: string, signal: AbortSignal): Promise<Row>;
}

// The caller's own deadline comes after the server's, so that it knows: what was rejected was not done.
const SERVERS_SHARE = 0.9;
// Canceled, and waited too long for a lock.
const TIMED_OUT: ReadonlySet<string | undefined> = new Set(["57014", "55P03"]);

export function createConnection(options: ResolvedOptions): Connection {
  const { db, name, timeoutMs, breakerFailures, breakerCoolDownMs, logger, now } = options;
  // In tenths, so that the statements which a server keeps statistics of stay few.
  const limit = (leftMs: number): string => {
    const share = (Math.floor((10 * leftMs) / timeoutMs + 0.05) / 10) * SERVERS_SHARE;
    return `set local statement_timeout = ${Math.max(1, Math.floor(timeoutMs * share))}`;
  };
  // A later snapshot would not do harm, but two that meet on one row would be an error.
  const isolation = "set transaction isolation level read committed";
  const breaker = createBreaker({
    failures: breakerFailures,
    coolDownMs: breakerCoolDownMs,
    now,
    outcomeOf: (error) => (isOutage(error) ? "failed" : "succeeded"),
    onChange({ from, to, failures }) {
      if (from === "closed") {
        const fields = { store: name, failures, cool_down_ms: breakerCoolDownMs };
        logger?.warn(fields, "the token store is not answering; it is not asked for a while");
      } else if (to === "closed") logger?.info({ store: name }, "the token store is answering again");
    },
  });

  function send(sql: string, signal?: AbortSignal): Promise<Row> {
    const until = performance.now() + timeoutMs;
    // The wait for a connection counts: what the server did after the caller's deadline would be done behind its back.
    const limited = (): string => `${limit(until - performance.now())}; ${sql}`;
    return withDeadline(timeoutMs, (deadline) => sendWithin(limited, deadline), { signal });
  }

  async function sendWithin(sql: () => string, deadline: AbortSignal): Promise<Row> {
    if (!isPool(db)) return firstRow(await db.query(sql()));
    for (let attempt = 1; ; attempt++) {
      const connection = await lendUntil(deadline, db);
      try {
        return await sendOn(connection, sql(), deadline);
      } catch (error) {
        // What broke may have been done all the same, or long before it was asked.
        if (attempt === 2 || deadline.aborted || !isConnectionError(error)) throw error;
      }
    }
  }

  return {
    read: (sql) => breaker.run(() => send(sql)),
    write: (sql) => breaker.run(() => send(`${isolation}; ${sql}`)),
    probe: (sql, signal) => send(sql, signal),
  };
}

/** Whether the database did not answer, or not in time; any other error is an answer. */
function isOutage(error: unknown): boolean {
  if (error instanceof DeadlineError || error instanceof BreakerOpenError) return true;
  const state = sqlStateOf(error);
  return state === undefined || TIMED_OUT.has(state) || isConnectionError(error);
}

async function lendUntil(deadline: AbortSignal, pool: Connectable): Promise<PooledConnection> {
  const connection = await lend(pool);
  if (deadline.aborted) {
    connection.release();
    deadline.throwIfAborted();
  }
  return connection;
}

interface Emitter {
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
}

/** Gives the connection back, or closes it at the deadline: what hangs would otherwise be lent to the next one. */
async function sendOn(connection: PooledConnection, sql: string, deadline: AbortSignal): Promise<Row> {
  let broken: Error | undefined;
  const onError = (error: Error): void => {
    broken ??= error;
  };
  // One that breaks while nothing is sent on it emits an error, which ends the process when nobody listens.
  const emitter = connection as Partial<Emitter>;
  let released = false;
  const release = (error?: Error): void => {
    if (released) return;
    released = true;
    deadline.removeEventListener("abort", onDeadline);
    connection.release(error);
    emitter.removeListener?.("error", onError);
  };
  const onDeadline = (): void => release(new Error("the deadline of a command"));
  emitter.on?.("error", onError);
  deadline.addEventListener("abort", onDeadline, { once: true });
  try {
    return firstRow(await connection.query(sql));
  } catch (error) {
    if (sqlStateOf(error) === undefined || isConnectionError(error)) broken ??= asError(error);
    throw error;
  } finally {
    release(broken);
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** Drivers answer several statements with a list. */
function firstRow(answer: unknown): Row {
  const last: unknown = Array.isArray(answer) ? answer.at(-1) : answer;
  const rows = (last as { readonly rows?: readonly Row[] } | undefined)?.rows;
  return rows?.[0] ?? {};
}
