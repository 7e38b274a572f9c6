import type { PoolClient } from "pg";
import { requestCancel } from "./cancel.ts";
import { GRACE_MS } from "./client-config.ts";
import { GAVE_UP } from "./problems.ts";

/** The time limit for the statements on one connection, which run one after the other, and what happened to them. */
export interface StatementDeadline {
  /** Whether a cancel request was sent. It may arrive late and cancel the connection's next statement. */
  readonly cancelled: boolean;
  /** Whether a statement continued after it was cancelled, so that the server counts as hung. */
  readonly hung: boolean;
  /**
   * Runs a statement; rejects if the server does not end it soon after its deadline. Resolves with a cursor immediately: the
   * cursor has no deadline.
   */
  run<T>(send: () => Promise<T>): Promise<T>;
  /** Asks the server to cancel the current statement. */
  cancel(): void;
}

/**
 * Gives the statements on a connection a time limit.
 *
 * @param cancelsItself whether the server cancels a statement at its deadline. Otherwise a cancel request is sent, because the
 *   settings of a session on the caller's pool must not change
 */
export function createStatementDeadline(
  client: PoolClient,
  deadlineMs: number,
  cancelsItself: boolean,
): StatementDeadline {
  return new Limit(client, deadlineMs, cancelsItself);
}

// A class, because each request creates one, and closures would cost more.
class Limit implements StatementDeadline {
  cancelled = false;
  hung = false;
  readonly #client: PoolClient;
  readonly #deadlineMs: number;
  readonly #cancelsItself: boolean;
  #timer: NodeJS.Timeout | undefined;
  #afterReading: NodeJS.Immediate | undefined;
  #reject: ((error: Error) => void) | undefined;

  constructor(client: PoolClient, deadlineMs: number, cancelsItself: boolean) {
    this.#client = client;
    this.#deadlineMs = deadlineMs;
    this.#cancelsItself = cancelsItself;
  }

  cancel(): void {
    this.cancelled = true;
    requestCancel(this.#client, GRACE_MS);
  }

  run<T>(send: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      // `send` may throw, which rejects, and may return a cursor instead of a promise.
      Promise.resolve(send()).then(
        (result) => {
          this.#end();
          resolve(result);
        },
        (error: unknown) => {
          this.#end();
          reject(error as Error);
        },
      );
      this.#reject = reject;
      this.#wait(this.#deadlineMs, Limit.#late);
    });
  }

  #wait(ms: number, then: (limit: Limit) => void): void {
    this.#timer = setTimeout(Limit.#read, ms, this, then);
  }

  /** Calls `then` after the answers that have arrived are read: after a stall of this process, timers fire before that. */
  static #read(this: void, limit: Limit, then: (limit: Limit) => void): void {
    limit.#afterReading = setImmediate(then, limit);
  }

  static #late(this: void, limit: Limit): void {
    if (!limit.#cancelsItself) limit.cancel();
    limit.#wait(GRACE_MS, Limit.#giveUp);
  }

  static #giveUp(this: void, limit: Limit): void {
    limit.hung = true;
    limit.#reject?.(new Error(GAVE_UP));
  }

  #end(): void {
    clearTimeout(this.#timer);
    if (this.#afterReading !== undefined) clearImmediate(this.#afterReading);
  }
}
