import {
  type Database,
  type PlannedStatement,
  type PooledConnection,
  type QueryResult,
  type Row,
  standsFor,
} from "@svc/sql";
import type { PoolClient } from "pg";
import { notAnswering, tooSlow, verdictOf } from "./problems.ts";
import type { Watch } from "./tenant.ts";

/** A connection out of the pool. Its errors are problems where the connection is at fault. */
export interface LentConnection extends PooledConnection {
  /** `I` outside of a transaction, `T` inside of one, `E` inside of one that has failed. */
  getTransactionStatus(): string | null;
}

interface WithStatus {
  getTransactionStatus?(): string | null;
}

/**
 * @param onStuck called when the server is found to hang
 * @param watch sees every statement before it is sent: it throws, or says that the connection must not be reused
 */
export function lend(client: PoolClient, onStuck: () => void, watch?: Watch): LentConnection {
  let spoilt = false;
  let broken: Error | undefined;
  let returned = false;
  // A connection that breaks between two statements emits an error, which ends the process when nobody listens.
  const onError = (error: Error): void => {
    broken ??= notAnswering(error);
  };
  client.on("error", onError);

  function judged(error: unknown): unknown {
    const verdict = verdictOf(error);
    if (verdict === "fine") return error;
    if (verdict === "late") return tooSlow(error);
    const problem = verdict === "lost" ? notAnswering(error) : tooSlow(error);
    broken ??= problem;
    if (verdict === "stuck") onStuck();
    return problem;
  }

  const status = (): string | null => (client as WithStatus).getTransactionStatus?.() ?? null;

  const lent: LentConnection = {
    getTransactionStatus: status,
    async query<R extends Row = Row>(
      statement: string | PlannedStatement,
      values?: unknown[],
    ): Promise<QueryResult<R>> {
      if (returned) throw new Error("a connection was used after it was given back to the pool");
      // A statement would queue up behind the one that hangs.
      if (broken !== undefined) throw broken;
      const text = typeof statement === "string" ? statement : statement.text;
      if (watch?.(text, values) === true) spoilt = true;
      try {
        return await client.query<R>(statement as string, values);
      } catch (error) {
        throw judged(error);
      }
    },
    release(error) {
      if (returned) return;
      returned = true;
      client.removeListener("error", onError);
      // Whoever is next must not go on in a transaction that was left open.
      const open = status() !== "I";
      client.release(open || spoilt || broken !== undefined || (error !== undefined && error !== false));
    },
  };
  return standsFor(lent, client as Database);
}
