import type { PoolClient } from "pg";
import { requestCancel } from "./cancel.ts";
import { GRACE_MS } from "./client-config.ts";
import { GAVE_UP } from "./problems.ts";

/** The time limit for the statements on one connection, and what happened to them. */
export interface StatementDeadline {
  /** Whether a cancel request was sent. It may arrive late and cancel the connection's next statement. */
  readonly cancelled: boolean;
  /** Whether a statement continued after it was cancelled, so that the server counts as hung. */
  readonly hung: boolean;
  /**
   * Runs a statement, and sends a cancel request at its deadline; rejects if the server then does not end it. Resolves with a
   * cursor immediately: the cursor has no deadline.
   */
  run<T>(send: () => Promise<T>): Promise<T>;
  /** Asks the server to cancel the current statement. */
  cancel(): void;
}

/**
 * Gives the statements on a connection of the caller's pool a time limit without changing the settings of its session, which
 * the caller uses later.
 */
export function createStatementDeadline(client: PoolClient, deadlineMs: number): StatementDeadline {
  let cancelled = false;
  let hung = false;

  function cancel(): void {
    cancelled = true;
    requestCancel(client, GRACE_MS);
  }

  return {
    get cancelled() {
      return cancelled;
    },
    get hung() {
      return hung;
    },
    cancel,
    run<T>(send: () => Promise<T>): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        const giveUp = (): void => {
          hung = true;
          reject(new Error(GAVE_UP));
        };
        let timer = setTimeout(() => {
          cancel();
          timer = setTimeout(giveUp, GRACE_MS);
        }, deadlineMs);
        // Call `send` in an async function, because it may throw, and returns a cursor instead of a promise.
        (async () => send())().then(
          (result) => {
            clearTimeout(timer);
            resolve(result);
          },
          (error: unknown) => {
            clearTimeout(timer);
            reject(error as Error);
          },
        );
      });
    },
  };
}
