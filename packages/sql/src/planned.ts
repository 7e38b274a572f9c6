import { sqlStateOf } from "./error-class.ts";
import type { PooledConnection, QueryResult, Row } from "./queryable.ts";

/**
 * A statement that a connection plans once. It is sent by its name only on direct connections to the server: a pooler may
 * run the next statement in another session, which does not know the name.
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

/** Whether a connection of the driver is direct; unknown until a planned statement has been answered on it. */
const direct = new WeakMap<object, boolean>();
/** The driver's connection behind a wrapper whose `query` takes planned statements. */
const wrapped = new WeakMap<object, object>();
// The session has forgotten its statements (`discard all`), or the table has changed under the plan.
const FORGOTTEN = new Set<unknown>(["26000", "0A000"]);

/** Records that a wrapper of a connection of `pg` takes planned statements, and returns the wrapper. */
export function takesPlanned<C extends PooledConnection>(wrapper: C, client: object): C {
  wrapped.set(wrapper, client);
  return wrapper;
}

/** Sends a planned statement on a connection of a pool: by its name on a direct connection, else as a text. */
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
  // A pooler gives its clients its own process ids.
  if (!direct.has(client) && typeof pid === "number") direct.set(client, pid === processIdOf(client));
  return answer;
}

interface NamedQueries {
  query(statement: PlannedStatement): unknown;
}

/** Returns a connection of `pg`, or the one behind a registered wrapper. Another wrapper may take nothing but a text. */
function driverOf(connection: PooledConnection): object | undefined {
  const registered = wrapped.get(connection);
  if (registered !== undefined || Object.hasOwn(connection, "query")) return registered;
  const { query } = Object.getPrototypeOf(connection) as Partial<PooledConnection>;
  // A proxy of a connection has the same prototype and another method.
  return query === connection.query && processIdOf(connection) !== undefined ? connection : undefined;
}

/** The process id that `pg` was given when it connected. */
function processIdOf(connection: object): unknown {
  return (connection as { readonly processID?: unknown }).processID;
}
