import { type Deadline, type DeadlineReason, SqlDeadlineError } from "./deadline-error.ts";
import { asError, isConnectionError, sqlStateOf } from "./error-class.ts";
import { close, lend } from "./lend.ts";
import { type PlannedStatement, queryPlanned } from "./planned.ts";
import {
  type Connectable,
  type Database,
  isPool,
  original,
  type PooledConnection,
  type Queryable,
  type QueryResult,
  type Row,
} from "./queryable.ts";

type OnDeadline = (error: SqlDeadlineError) => void;

// A pool's queue keeps requests whose callers have given up; at most this many may wait there.
const MAX_ABANDONED = 1000;
const abandoned = new WeakMap<Connectable, number>();
// Callers' connections with a statement that passed its deadline and still has no response.
const stuck = new WeakMap<Database, SqlDeadlineError>();

/**
 * Sends one statement. On a pool, the time limit includes the wait for a connection.
 *
 * At the deadline a pool connection is closed, so no later call receives the late response and the pool can open a new
 * connection. The caller's own connection stays open; the state of its transaction is unknown, and nothing more is sent on
 * it until the response arrives.
 *
 * @throws SqlDeadlineError at the deadline; errors from the server and the driver unchanged
 */
export function queryWithin<R extends Row>(
  db: Database,
  deadline: Deadline,
  text: string,
  values?: unknown[],
): Promise<QueryResult<R>> {
  if (!isPool(db)) return answerOfCaller(db, deadline, () => db.query<R>(text, values));
  return queryOnPool(db, deadline, (connection) => connection.query<R>(text, values));
}

/** Sends one planned statement as {@link queryWithin} does, by name only on pool connections. */
export function plannedWithin<R extends Row>(
  db: Database,
  deadline: Deadline,
  statement: PlannedStatement,
): Promise<QueryResult<R>> {
  if (!isPool(db)) return queryWithin(db, deadline, statement.text, statement.values);
  return queryOnPool(db, deadline, (connection) => queryPlanned<R>(connection, statement));
}

function queryOnPool<R extends Row>(
  pool: Connectable,
  deadline: Deadline,
  query: (connection: PooledConnection) => Promise<QueryResult<R>>,
): Promise<QueryResult<R>> {
  if (isCrowded(pool)) return Promise.reject(new SqlDeadlineError(deadline, "crowded"));
  return new Promise((resolve, reject) => {
    let lent: PooledConnection | undefined;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      const error = new SqlDeadlineError(deadline, lent === undefined ? "connection" : "answer");
      if (lent === undefined) countAbandoned(pool, 1);
      else close(lent, error);
      reject(error);
    }, deadline.timeoutMs);

    async function send(connection: PooledConnection): Promise<void> {
      if (isLate) {
        countAbandoned(pool, -1);
        connection.release();
        return;
      }
      lent = connection;
      let broken: Error | undefined;
      try {
        resolve(await query(connection));
      } catch (error) {
        broken = isUsableAfter(error) ? undefined : asError(error);
        reject(error);
      }
      if (isLate) return;
      clearTimeout(timer);
      connection.release(broken);
    }
    lend(pool).then(send, (error: unknown) => {
      if (isLate) countAbandoned(pool, -1);
      clearTimeout(timer);
      reject(error);
    });
  });
}

/** Gets a connection from a pool. Releases a connection that arrives after the deadline immediately. */
export function lendWithin(
  pool: Connectable,
  deadline: Deadline,
  onDeadline: OnDeadline,
): Promise<PooledConnection> {
  if (isCrowded(pool)) return Promise.reject(new SqlDeadlineError(deadline, "crowded"));
  const lending = lend(pool);
  return within(deadline, "connection", lending, (error) => {
    onDeadline(error);
    countAbandoned(pool, 1);
    lending.then(
      (connection) => {
        countAbandoned(pool, -1);
        connection.release();
      },
      () => countAbandoned(pool, -1),
    );
  });
}

/**
 * Waits for a response on the caller's connection. Rejects immediately while an earlier statement on it is past its deadline.
 */
export function answerOfCaller<T>(
  connection: Queryable,
  deadline: Deadline,
  send: () => Promise<T>,
  onDeadline?: OnDeadline,
): Promise<T> {
  const key = original(connection);
  if (stuck.has(key)) return Promise.reject(new SqlDeadlineError(deadline, "stuck"));
  const answer = send();
  return within(deadline, "caller", answer, (error) => {
    stuck.set(key, error);
    const forget = (): void => void stuck.delete(key);
    answer.then(forget, forget);
    onDeadline?.(error);
  });
}

/** Returns the deadline error of the statement that is still pending on the caller's connection. */
export function stuckOn(connection: Queryable): SqlDeadlineError | undefined {
  return stuck.get(original(connection));
}

/** Waits for a promise until the deadline. */
export function within<T>(
  deadline: Deadline,
  reason: DeadlineReason,
  something: Promise<T>,
  onDeadline: OnDeadline,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const error = new SqlDeadlineError(deadline, reason);
      onDeadline(error);
      reject(error);
    }, deadline.timeoutMs);
    something.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

function isCrowded(pool: Connectable): boolean {
  return (abandoned.get(original(pool)) ?? 0) >= MAX_ABANDONED;
}

function countAbandoned(pool: Connectable, change: number): void {
  const key = original(pool);
  abandoned.set(key, (abandoned.get(key) ?? 0) + change);
}

/** Returns whether the server itself rejected the statement, so that the connection is still usable. */
function isUsableAfter(error: unknown): boolean {
  return sqlStateOf(error) !== undefined && !isConnectionError(error);
}
