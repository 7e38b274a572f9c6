import {
  type PlannedStatement,
  type PooledConnection,
  type QueryResult,
  type Row,
  takesPlanned,
} from "@svc/sql";
import type { PoolClient } from "pg";
import { notAnswering, tooSlow, verdictOf } from "./problems.ts";
import { createStatementDeadline } from "./statement-deadline.ts";
import type { Watch } from "./tenant.ts";

/** A connection lent by the pool. Connection failures are thrown as problems. */
export interface LentConnection extends PooledConnection {
  /** Returns `I` outside a transaction, `T` inside one, `E` inside a failed one. */
  getTransactionStatus(): string | null;
}

interface WithStatus {
  getTransactionStatus?(): string | null;
}

/** How to treat a lent connection. */
export interface Lending {
  /** Called when the server hangs: it did not cancel a statement at its deadline. */
  readonly onStuck: () => void;
  /**
   * Called with every statement before it is sent; throws to reject it, or returns true to have the connection closed on
   * release. Default: none.
   */
  readonly watch: Watch | undefined;
  /** Time limit of a statement in milliseconds, for a connection without its own limit. Default: none. */
  readonly statementDeadlineMs: number | undefined;
}

export function lend(client: PoolClient, { onStuck, watch, statementDeadlineMs }: Lending): LentConnection {
  const deadline =
    statementDeadlineMs === undefined ? undefined : createStatementDeadline(client, statementDeadlineMs);
  let spoilt = false;
  let broken: Error | undefined;
  let returned = false;
  // Without this listener, the error of a connection that breaks between two statements would end the process.
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
    if (verdict === "stuck") {
      // The caller's pool may have a shorter `query_timeout`, which rejects a statement that the server still executes.
      if (deadline?.hung === false) deadline.cancel();
      else onStuck();
    }
    return problem;
  }

  const status = (): string | null => (client as WithStatus).getTransactionStatus?.() ?? null;

  const lent: LentConnection = {
    getTransactionStatus: status,
    async query<R extends Row = Row>(
      statement: string | PlannedStatement,
      values?: unknown[],
    ): Promise<QueryResult<R>> {
      if (returned) throw new Error("a connection was used after it was returned to the pool");
      // Throw immediately: on a hung connection, a further statement would queue behind the hanging one.
      if (broken !== undefined) throw broken;
      if (watch?.(statement, values) === true) spoilt = true;
      try {
        const send = (): Promise<QueryResult<R>> => client.query<R>(statement as string, values);
        return await (deadline === undefined ? send() : deadline.run(send));
      } catch (error) {
        throw judged(error);
      }
    },
    release(error) {
      if (returned) return;
      returned = true;
      client.removeListener("error", onError);
      // The next user must not continue in a transaction that was left open.
      const open = status() !== "I";
      spoilt ||= deadline?.cancelled === true;
      client.release(open || spoilt || broken !== undefined || (error !== undefined && error !== false));
    },
  };
  return takesPlanned(lent, client);
}
