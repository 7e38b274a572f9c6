import { type ProblemError, serviceUnavailable } from "@svc/problem";
import { isConnectionError, sqlStateOf } from "@svc/sql";

/** There is no connection to be had, or it was lost. */
export function notAnswering(cause: unknown, retryAfterMs = 0): ProblemError {
  return unavailable(
    "the database is not answering; retry shortly",
    "ERR_SVC_DATABASE_UNAVAILABLE",
    cause,
    retryAfterMs,
  );
}

/** All connections were in use for as long as a request waits. */
export function exhausted(cause: unknown): ProblemError {
  return unavailable(
    "all database connections are in use; retry shortly",
    "ERR_SVC_DATABASE_POOL_EXHAUSTED",
    cause,
  );
}

/** A statement took longer than it may. */
export function tooSlow(cause: unknown): ProblemError {
  return unavailable("the database did not answer in time; retry shortly", "ERR_SVC_DATABASE_TIMEOUT", cause);
}

function unavailable(detail: string, code: string, cause: unknown, retryAfterMs = 0): ProblemError {
  return serviceUnavailable(detail, { code, cause, retryAfterSeconds: Math.max(1, retryAfterMs / 1000) });
}

/**
 * What an error of a statement says about its connection. `stuck`: the server did not even end the statement when its
 * time was up. `lost`: there is no connection any more. `late`: the server ended the statement. `fine`: the statement
 * was wrong.
 */
export function verdictOf(error: unknown): "stuck" | "lost" | "late" | "fine" {
  // The text of pg's `query_timeout`, which has no code.
  if (error instanceof Error && error.message === "Query read timeout") return "stuck";
  if (isConnectionError(error)) return "lost";
  return sqlStateOf(error) === "57014" ? "late" : "fine";
}
