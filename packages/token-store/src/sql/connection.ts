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
import type { ResolvedTokenStore } from "./options.ts";

// The server cancels a statement before the caller's deadline, so the caller knows that a rejected statement had no
// effect.
const SERVERS_SHARE = 0.9;
// The SQLSTATEs of a canceled statement and of a lock timeout.
const TIMED_OUT: ReadonlySet<string | undefined> = new Set(["57014", "55P03"]);

export type Connection = ReturnType<typeof createConnection>;

/**
 * Returns functions that send statements within `timeoutMs`. `read` and `write` reject immediately while the circuit
 * breaker is open.
 */
export function createConnection(options: ResolvedTokenStore) {
  const { db, name, timeoutMs, breakerFailures, breakerCoolDownMs, logger, now } = options;
  // Round the remaining time to tenths of `timeoutMs`, so that the server's statistics see few distinct statements.
  const limit = (leftMs: number): string => {
    const share = (Math.floor((10 * leftMs) / timeoutMs + 0.05) / 10) * SERVERS_SHARE;
    return `set local statement_timeout = ${Math.max(1, Math.floor(timeoutMs * share))}`;
  };
  // At a stricter level, one of two concurrent statements that write the same row would fail.
  const isolation = "set transaction isolation level read committed";
  const breaker = createBreaker({
    failures: breakerFailures,
    coolDownMs: breakerCoolDownMs,
    now,
    outcomeOf: (error) => (isOutage(error) ? "failed" : "succeeded"),
    onChange({ from, to, failures }) {
      if (from === "closed") {
        const fields = { store: name, failures, cool_down_ms: breakerCoolDownMs };
        logger?.warn(
          fields,
          "the token store is not answering; calls are rejected until the breaker allows a trial",
        );
      } else if (to === "closed") logger?.info({ store: name }, "the token store is answering again");
    },
  });

  function send(sql: string, signal?: AbortSignal): Promise<Row> {
    const until = performance.now() + timeoutMs;
    // The limit includes the wait for a connection, so the server never executes a statement after the caller's deadline.
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
        // Repeat the statement once: the connection may have broken before it was sent, or after it was executed.
        if (attempt === 2 || deadline.aborted || !isConnectionError(error)) throw error;
      }
    }
  }

  return {
    /** Runs a statement that reads, and returns its first row. */
    read: (sql: string) => breaker.run(() => send(sql)),
    /**
     * Runs a statement that writes. Repeats it on another connection when its connection breaks, so it must be safe to
     * repeat.
     */
    write: (sql: string) => breaker.run(() => send(`${isolation}; ${sql}`)),
    /** Runs a statement that reads, even while the circuit breaker is open. */
    probe: (sql: string, signal: AbortSignal) => send(sql, signal),
  };
}

/** Returns whether an error means that the database is unreachable or too slow. Any other error is a response. */
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

/**
 * Sends a statement on a connection and releases the connection. Closes it at the deadline, so that the pool does not
 * lend a hung connection.
 */
async function sendOn(connection: PooledConnection, sql: string, deadline: AbortSignal): Promise<Row> {
  let broken: Error | undefined;
  const onError = (error: Error): void => {
    broken ??= error;
  };
  // An idle connection that breaks emits an error, which ends the process if no listener is registered.
  const emitter = connection as Partial<Emitter>;
  let released = false;
  const release = (error?: Error): void => {
    if (released) return;
    released = true;
    deadline.removeEventListener("abort", onDeadline);
    connection.release(error);
    emitter.removeListener?.("error", onError);
  };
  const onDeadline = (): void => release(new Error("a command exceeded its deadline"));
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

/** Returns the first row of the last result. For several statements a driver returns a list of results. */
function firstRow(answer: unknown): Row {
  const last: unknown = Array.isArray(answer) ? answer.at(-1) : answer;
  const rows = (last as { readonly rows?: readonly Row[] } | undefined)?.rows;
  return rows?.[0] ?? {};
}
