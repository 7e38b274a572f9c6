import type { Connectable, PooledConnection, QueryResult, Row } from "@svc/sql";

export interface Sent {
  readonly text: string;
  readonly values: unknown[] | undefined;
}

/** Returns a pool that records statements, may change their text, and may send them as another role. */
export function watched(
  pool: Connectable,
  { change = (text) => text, role }: { change?: (text: string) => string; role?: string } = {},
): Connectable & { readonly sent: Sent[] } {
  const sent: Sent[] = [];
  return {
    sent,
    // A wrapper of the embedded database must also have this member, which marks a database with one connection.
    ...("embedded" in pool ? { embedded: true } : {}),
    async connect(): Promise<PooledConnection> {
      const connection = await pool.connect();
      if (role !== undefined) await connection.query(`set role ${role}`);
      return {
        query<R extends Row>(text: string, values?: unknown[]): Promise<QueryResult<R>> {
          sent.push({ text, values });
          return connection.query<R>(change(text), values);
        },
        async release(error) {
          // Callers do not wait for this; the connection returns to the pool only after its role is reset.
          if (role !== undefined) await connection.query("reset role");
          connection.release(error);
        },
      };
    },
  };
}

/** Returns the plan of a sent statement with its values. */
export async function planOf(pool: Connectable, { text, values }: Sent): Promise<string> {
  const connection = await pool.connect();
  try {
    const { rows } = await connection.query(`explain (costs off) ${text}`, values);
    return rows.map((row) => Object.values(row).join("")).join("\n");
  } finally {
    connection.release();
  }
}
