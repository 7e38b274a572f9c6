import { sqlStateOf } from "./error-class.ts";
import { original } from "./original.ts";
import type { PooledConnection, QueryResult, Row } from "./queryable.ts";

/**
 * A statement that a connection plans once. It is sent by its name only on connections that lead straight to the server:
 * a pooler may run the next statement in another session, which does not know the name.
 */
export interface PlannedStatement {
  /** Unique among the statements of a connection; at most 63 bytes. */
  readonly name: string;
  /** Returns the server's process id, as {@link SESSION_COLUMN}, in its first row. */
  readonly text: string;
  readonly values: unknown[];
}

/** To be returned by a planned statement. */
export const SESSION_COLUMN = "pg_backend_pid() as session_pid";

/** Whether a connection leads straight to the server; unknown until a planned statement has been answered on it. */
const direct = new WeakMap<object, boolean>();
// The session has forgotten its statements (`discard all`), or the table has changed under the plan.
const FORGOTTEN = new Set<unknown>(["26000", "0A000"]);

/** Sends a planned statement on a connection of a pool, by its name where that is safe. */
export async function queryPlanned<R extends Row>(
  connection: PooledConnection,
  { name, text, values }: PlannedStatement,
): Promise<QueryResult<R>> {
  const key = original(connection);
  if (direct.get(key) === true) {
    try {
      const answer: unknown = await (connection as unknown as NamedQueries).query({ name, text, values });
      return answer as QueryResult<R>;
    } catch (error) {
      // The server refused the name before it did anything.
      if (!FORGOTTEN.has(sqlStateOf(error))) throw error;
      direct.set(key, false);
    }
  }
  const answer = await connection.query<R>(text, values);
  const pid = answer.rows[0]?.["session_pid"];
  // A pooler gives its clients process ids of its own.
  if (!direct.has(key) && typeof pid === "number") direct.set(key, pid === processIdOf(key));
  return answer;
}

interface NamedQueries {
  query(statement: PlannedStatement): unknown;
}

/** The process id that `pg` was given when it connected. */
function processIdOf(connection: object): unknown {
  return (connection as { readonly processID?: unknown }).processID;
}
