import { TableError } from "@svc/sql";

/** Codes of {@link SearchError}. */
export type SearchErrorCode =
  | "ERR_SVC_SEARCH_TENANT"
  | "ERR_SVC_SEARCH_ARGUMENT"
  | "ERR_SVC_SEARCH_VECTOR"
  | "ERR_SVC_SEARCH_FILTER"
  | "ERR_SVC_SEARCH_EMBED"
  | "ERR_SVC_SEARCH_EXTENSION"
  | "ERR_SVC_SEARCH_SCHEMA"
  | "ERR_SVC_SEARCH_DUPLICATE"
  | "ERR_SVC_SEARCH_INDEX"
  | "ERR_SVC_SEARCH_PEER"
  | "ERR_SVC_SEARCH_EMBEDDED"
  | "ERR_SVC_SEARCH_QUEUE";

/**
 * Thrown by a search store, with one of these codes:
 *
 * - `_TENANT`: a call without a valid tenant (SEARCH-6). `_ARGUMENT`: another invalid argument. `_VECTOR`: an embedding that
 *   has the wrong length, is all zeros, contains NaN or is out of range. `_FILTER`: an invalid filter. In these cases
 *   nothing was sent to the database.
 * - `_EMBED`: `embed` is missing, failed, took too long or returned an invalid result.
 * - `_EXTENSION`: the server has no pgvector, or one that is too old. `_SCHEMA`: the table is missing or different.
 * - `_DUPLICATE`: a bulk load contained a chunk that exists already, and was rolled back.
 * - `_INDEX`: an approximate index could not be created.
 * - `_PEER`: an optional package is not installed. `_EMBEDDED`: the embedded database is not available.
 * - `_QUEUE`: `ingestLater()` was called without a job queue.
 */
export class SearchError extends TableError<SearchErrorCode> {
  override readonly name = "SearchError";
}

/** Returns a SearchError, with the cause if given. */
export function searchError(code: SearchErrorCode, message: string, cause?: unknown): SearchError {
  return new SearchError(code, message, cause === undefined ? undefined : { cause });
}

export function refused(message: string): SearchError {
  return new SearchError("ERR_SVC_SEARCH_ARGUMENT", message);
}
