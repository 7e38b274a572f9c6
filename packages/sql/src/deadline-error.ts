/** Time limit for a call to the database. */
export interface Deadline {
  /** Name of the call in the error: `enqueue()`. */
  readonly operation: string;
  /** Milliseconds, from 1 to 2,147,483,647. */
  readonly timeoutMs: number;
}

/**
 * The reason for a missed deadline. `connection`: no pool connection was free. `answer`: no response arrived. `caller`: no
 * response arrived on the caller's connection. `crowded`: nothing was sent, since too many earlier calls are still waiting.
 * `stuck`: nothing was sent, since an earlier call on this connection is still waiting.
 */
export type DeadlineReason = "connection" | "answer" | "caller" | "crowded" | "stuck";

/** Thrown when the database did not respond before the deadline. Reaches an HTTP client as a 503. */
export class SqlDeadlineError extends Error {
  override readonly name = "SqlDeadlineError";
  readonly code = "ERR_SVC_SQL_DEADLINE";
  readonly operation: string;
  readonly timeoutMs: number;
  /** Whether a statement was sent without a response; it may still take effect. */
  readonly sent: boolean;
  readonly status = 503;
  readonly expose = false;
  readonly headers = { "retry-after": "1" };

  constructor({ operation, timeoutMs }: Deadline, reason: DeadlineReason) {
    super(`${operation} ${textOf(reason, `${timeoutMs / 1000} s`)}`);
    this.operation = operation;
    this.timeoutMs = timeoutMs;
    this.sent = reason === "answer" || reason === "caller";
  }
}

function textOf(reason: DeadlineReason, time: string): string {
  const unanswered = `got no response from the database within ${time}; a statement already sent may still take effect`;
  switch (reason) {
    case "connection":
      return `got no connection from the pool within ${time}; its statement was not sent`;
    case "answer":
      return unanswered;
    case "caller":
      return `${unanswered}: roll back, or close the connection if it does not respond`;
    case "crowded":
      return "was not sent: too many earlier calls are waiting for a connection from the pool";
    case "stuck":
      return "was not sent: an earlier statement on its connection passed its deadline and is still unanswered";
  }
}
