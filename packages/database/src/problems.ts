import { type ProblemError, serviceUnavailable } from "@svc/problem";
import { isConnectionError, sqlStateOf } from "@svc/sql";

/** The message of pg's error for a statement that exceeded `query_timeout`; the error has no code. */
export const GAVE_UP = "Query read timeout";

/** Returns the problem for a connection that failed or was lost. */
export function notAnswering(cause: unknown, retryAfterMs = 0): ProblemError {
  return unavailable(
    "the database is not answering; retry shortly",
    "ERR_SVC_DATABASE_UNAVAILABLE",
    cause,
    retryAfterMs,
  );
}

/** Returns the problem for a pool in which all connections stayed in use for `acquireTimeoutMs`. */
export function exhausted(cause: unknown): ProblemError {
  return unavailable(
    "all database connections are in use; retry shortly",
    "ERR_SVC_DATABASE_POOL_EXHAUSTED",
    cause,
  );
}

/** Returns the problem for a statement that exceeded its deadline. */
export function tooSlow(cause: unknown): ProblemError {
  return unavailable("the database did not answer in time; retry shortly", "ERR_SVC_DATABASE_TIMEOUT", cause);
}

function unavailable(detail: string, code: string, cause: unknown, retryAfterMs = 0): ProblemError {
  return serviceUnavailable(detail, { code, cause, retryAfterSeconds: Math.max(1, retryAfterMs / 1000) });
}

/**
 * Returns what a statement's error means for its connection. `stuck`: the server did not cancel the statement at its
 * deadline. `lost`: the connection is gone. `late`: the server cancelled the statement. `fine`: only the statement
 * itself failed.
 */
export function verdictOf(error: unknown): "stuck" | "lost" | "late" | "fine" {
  if (error instanceof Error && error.message === GAVE_UP) return "stuck";
  if (isConnectionError(error)) return "lost";
  return sqlStateOf(error) === "57014" ? "late" : "fine";
}
