import type { Connectable, PooledConnection, QueryResult, Row } from "@svc/sql";

export interface Sent {
  readonly text: string;
  readonly values: unknown[] | undefined;
}

/** A pool that remembers what is sent, may change its text, and may send it as another role. */
export function watched(
  pool: Connectable,
  { change = (text) => text, role }: { change?: (text: string) => string; role?: string } = {},
): Connectable & { readonly sent: Sent[] } {
  const sent: Sent[] = [];
  return {
    sent,
    // An embedded database has one connection, and whoever wraps it has to say so too.
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
          // The next one to use it waits for nothing: statements of one connection are in order.
          if (role !== undefined) await connection.query("reset role");
          connection.release(error);
        },
      };
    },
  };
}

/** The plan of a statement that was sent, with the values that it was sent with. */
export async function planOf(pool: Connectable, { text, values }: Sent): Promise<string> {
  const connection = await pool.connect();
  try {
    const { rows } = await connection.query(`explain (costs off) ${text}`, values);
    return rows.map((row) => Object.values(row).join("")).join("\n");
  } finally {
    connection.release();
  }
}
