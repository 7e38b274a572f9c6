import { sqlStateOf } from "./error-class.ts";
import type { PooledConnection, QueryResult, Row } from "./queryable.ts";

/**
 * A statement that a connection plans once. Sent by name only on direct connections to the server: a pooler may run the next
 * statement in another session, which does not know the name.
 */
export interface PlannedStatement {
  /** Unique among the statements of a connection; at most 63 bytes. */
  readonly name: string;
  /** The first row must contain {@link SESSION_COLUMN}, the server's process id. */
  readonly text: string;
  readonly values: unknown[];
}

/** Column that a planned statement must return. */
export const SESSION_COLUMN = "pg_backend_pid() as session_pid";

/** Whether a driver connection is direct; missing until the first response to a planned statement. */
const direct = new WeakMap<object, boolean>();
/** The driver connection inside a wrapper whose `query` accepts planned statements. */
const wrapped = new WeakMap<object, object>();
// 26000: the session has dropped its statements (`discard all`). 0A000: the table has changed since the plan was made.
const FORGOTTEN = new Set<unknown>(["26000", "0A000"]);

/** Records that a wrapper around a `pg` connection accepts planned statements, and returns the wrapper. */
export function takesPlanned<C extends PooledConnection>(wrapper: C, client: object): C {
  wrapped.set(wrapper, client);
  return wrapper;
}

/** Sends a planned statement on a pool connection: by name on a direct connection, else as SQL text. */
export async function queryPlanned<R extends Row>(
  connection: PooledConnection,
  { name, text, values }: PlannedStatement,
): Promise<QueryResult<R>> {
  const client = driverOf(connection);
  if (client === undefined) return connection.query<R>(text, values);
  if (direct.get(client) === true) {
    try {
      const answer: unknown = await (connection as unknown as NamedQueries).query({ name, text, values });
      return answer as QueryResult<R>;
    } catch (error) {
      // The failed statement had no effect: it was a separate transaction.
      if (!FORGOTTEN.has(sqlStateOf(error))) throw error;
      direct.set(client, false);
    }
  }
  const answer = await connection.query<R>(text, values);
  const pid = answer.rows[0]?.["session_pid"];
  // A pooler reports its own process ids to its clients.
  if (!direct.has(client) && typeof pid === "number") direct.set(client, pid === processIdOf(client));
  return answer;
}

interface NamedQueries {
  query(statement: PlannedStatement): unknown;
}

/** Returns a `pg` connection, or the connection inside a registered wrapper. Any other wrapper may accept only SQL text. */
function driverOf(connection: PooledConnection): object | undefined {
  const registered = wrapped.get(connection);
  if (registered !== undefined || Object.hasOwn(connection, "query")) return registered;
  const { query } = Object.getPrototypeOf(connection) as Partial<PooledConnection>;
  // A proxy of a connection has the same prototype but a different method.
  return query === connection.query && processIdOf(connection) !== undefined ? connection : undefined;
}

/** The process id that `pg` received when it connected. */
function processIdOf(connection: object): unknown {
  return (connection as { readonly processID?: unknown }).processID;
}
