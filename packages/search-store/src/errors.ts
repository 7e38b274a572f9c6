/** What a {@link SearchError} is about. */
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
  | "ERR_SVC_SEARCH_EMBEDDED";

/**
 * - `_TENANT`: a call without a tenant (SEARCH-6). `_ARGUMENT`: anything else that the store does not take. `_VECTOR`: an embedding of
 *   the wrong length, of zeros, with NaN or out of range. `_FILTER`: a filter that cannot be understood. Of all these nothing was
 *   sent to the database.
 * - `_EMBED`: `embed` is missing, failed, took too long or answered something else than was asked for.
 * - `_EXTENSION`: the server has no pgvector, or one that is too old. `_SCHEMA`: the table is missing or another one.
 * - `_DUPLICATE`: a bulk load met a chunk that is there already; nothing of it was kept.
 * - `_INDEX`: an approximate index could not be made.
 * - `_PEER`: an optional package is not installed. `_EMBEDDED`: the embedded database cannot be had.
 */
export class SearchError extends Error {
  override readonly name = "SearchError";
  readonly code: SearchErrorCode;

  constructor(code: SearchErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function refused(message: string): SearchError {
  return new SearchError("ERR_SVC_SEARCH_ARGUMENT", message);
}
