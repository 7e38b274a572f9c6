import {
  type PlannedStatement,
  type PooledConnection,
  type QueryResult,
  type Row,
  takesPlanned,
} from "@svc/sql";
import type { PoolClient } from "pg";
import { withoutTimer } from "./guarded-client.ts";
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
  /** Called when the server hangs: it did not cancel a statement of this connection at its deadline. */
  readonly onStuck: (client: PoolClient) => void;
  /**
   * Called with every statement before it is sent; throws to reject it, or returns true to have the connection closed on
   * release. Default: none.
   */
  readonly watch: Watch | undefined;
  /** Time limit of a statement in milliseconds. */
  readonly statementTimeoutMs: number;
  /** Whether the connection was opened with this limit, so that server and driver have it too. */
  readonly isLimited: boolean;
}

export function lend(
  client: PoolClient,
  { onStuck, watch, statementTimeoutMs, isLimited }: Lending,
): LentConnection {
  const deadline = createStatementDeadline(client, statementTimeoutMs, isLimited);
  /** Number of statements that were sent or wait for their turn. */
  let unanswered = 0;
  const waiting: (() => void)[] = [];
  let spoilt = false;
  let broken: Error | undefined;
  let returned = false;
  // Without this listener, the error of a connection that breaks between two statements would end the process.
  const onError = (error: Error): void => {
    broken ??= notAnswering(error);
  };
  client.on("error", onError);

  function refuseUnusable(): void {
    if (returned) throw new Error("a connection was used after it was returned to the pool");
    // Throw immediately: on a hung connection, a further statement would queue behind the hanging one.
    if (broken !== undefined) throw broken;
  }

  async function turn(): Promise<void> {
    await new Promise<void>((resolve) => waiting.push(resolve));
    refuseUnusable();
  }

  function judged(error: unknown): unknown {
    if (error === broken) return error;
    const verdict = verdictOf(error);
    if (verdict === "fine") return error;
    if (verdict === "late") return tooSlow(error);
    const problem = verdict === "lost" ? notAnswering(error) : tooSlow(error);
    broken ??= problem;
    if (verdict === "stuck") {
      // A shorter `query_timeout` of the caller rejects a statement that the server still executes.
      if (deadline.hung) onStuck(client);
      else deadline.cancel();
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
      refuseUnusable();
      if (watch?.(statement, values) === true) spoilt = true;
      unanswered += 1;
      try {
        // The time limit begins when the statement is sent, so send it only after the answer to the one before.
        if (unanswered > 1) await turn();
        const send = (): Promise<QueryResult<R>> => client.query<R>(statement as string, values);
        return await deadline.run(isLimited ? () => withoutTimer(client, statement, send) : send);
      } catch (error) {
        throw judged(error);
      } finally {
        unanswered -= 1;
        waiting.shift()?.();
      }
    },
    release(error) {
      if (returned) return;
      returned = true;
      client.removeListener("error", onError);
      // The next user must not continue in a transaction that was left open, or that an unanswered statement may begin.
      const open = unanswered > 0 || status() !== "I";
      spoilt ||= deadline.cancelled;
      client.release(open || spoilt || broken !== undefined || (error !== undefined && error !== false));
    },
  };
  return takesPlanned(lent, client);
}
