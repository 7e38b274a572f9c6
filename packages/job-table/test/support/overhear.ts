import type { ClientBase } from "pg";

/** Records the SQL of statements sent on a connection of `pg`, in order. */
export function overhear(connection: ClientBase, sent: string[]): void {
  const send = connection.query.bind(connection) as (...given: unknown[]) => unknown;
  connection.query = ((...given: unknown[]) => {
    const [first] = given as [string | { readonly text: string }];
    sent.push(typeof first === "string" ? first : first.text);
    return send(...given);
  }) as typeof connection.query;
}
