import { checkMembers, checkWhole } from "../checks.ts";
import { checkVector, type Vector, type VectorShape, vectorText } from "../embedding.ts";
import { refused } from "../errors.ts";
import { type Filter, parseFilter } from "../filter/parse-filter.ts";
import type { Wanted } from "./statement.ts";

export interface SearchRequest {
  /** Query embedding for semantic search. */
  readonly vector?: Vector | undefined;
  /** Words for text search; also embedded if the store has `embed` and no vector is given. */
  readonly text?: string | undefined;
  /** Condition on the metadata. Default: none. */
  readonly filter?: Filter | undefined;
  /** Largest number of hits, 1 to 100 (SEARCH-4). Default 5. */
  readonly limit?: number | undefined;
  /** Width of an approximate index scan, 1 to 1,000 (SEARCH-3, SEARCH-4). Default 100. */
  readonly efSearch?: number | undefined;
  /** Minimum score, -1 to 1; excludes hits without a score. Default: none. */
  readonly minScore?: number | undefined;
  /** Weights of semantic and text search in the rank fusion, 0 or more. Default 1 each. */
  readonly weights?: { readonly vector?: number | undefined; readonly text?: number | undefined } | undefined;
  /** Constant added to a rank in the rank fusion. Default 60. */
  readonly rrfK?: number | undefined;
  /** Number of candidates per search type to fuse, 1 to 1,000. Default 40, at least `limit`. */
  readonly candidates?: number | undefined;
  /** Cancels the search while it waits for the embedding of the text. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/** The members of a request. */
export const REQUEST_MEMBERS: readonly string[] = [
  "vector",
  "text",
  "filter",
  "limit",
  "efSearch",
  "minScore",
  "weights",
  "rrfK",
  "candidates",
  "signal",
];
/** Maximum size of a query in bytes; embedding models accept little more. */
const MAX_QUERY_BYTES = 16_384;
const MAX_WEIGHT = 1000;
const MAX_RRF_K = 10_000;

/**
 * Validates a whole request before anything is embedded or sent (SEARCH-4).
 *
 * @returns the checked request; a blank text counts as none
 * @throws SearchError `ERR_SVC_SEARCH_ARGUMENT`, `ERR_SVC_SEARCH_VECTOR`, `ERR_SVC_SEARCH_FILTER`
 */
export function checkRequest(shape: VectorShape, request: SearchRequest): Wanted {
  checkMembers(request, "a search", REQUEST_MEMBERS);
  const { vector, text, filter, limit = 5, efSearch = 100, minScore, weights = {}, rrfK = 60 } = request;
  const { candidates = 40, signal } = request;
  if (vector === undefined && text === undefined) throw refused("a search needs a vector, a text or both");
  if (vector !== undefined) checkVector(shape, vector, "the vector of the search");
  checkWhole(limit, "limit", 1, 100);
  checkWhole(efSearch, "efSearch", 1, 1000);
  checkWhole(candidates, "candidates", 1, 1000);
  if (minScore !== undefined) checkNumber(minScore, "minScore", -1, 1);
  checkNumber(rrfK, "rrfK", 0, MAX_RRF_K);
  checkMembers(weights, "weights", ["vector", "text"]);
  const { vector: ofVector = 1, text: ofText = 1 } = weights;
  checkNumber(ofVector, "weights.vector", 0, MAX_WEIGHT);
  checkNumber(ofText, "weights.text", 0, MAX_WEIGHT);
  if (ofVector === 0 && ofText === 0) throw refused("weights must not both be 0");
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw refused("signal must be an AbortSignal");
  return {
    vector: vector === undefined ? undefined : vectorText(vector),
    text: text === undefined ? undefined : queryText(text),
    // Parse the filter first, so that a faulty one does not cost an embedding.
    condition: filter === undefined ? undefined : parseFilter(filter),
    limit,
    candidates,
    efSearch,
    minScore,
    weights: { vector: ofVector, text: ofText },
    rrfK,
  };
}

function queryText(text: unknown): string | undefined {
  if (typeof text !== "string") throw refused("the text of the search must be a string");
  if (Buffer.byteLength(text) > MAX_QUERY_BYTES) {
    throw refused(`the text of the search must have at most ${MAX_QUERY_BYTES} bytes`);
  }
  // Replace characters that PostgreSQL cannot store, since no word contains them.
  const query = text.toWellFormed().replaceAll("\0", " ").trim();
  return query === "" ? undefined : query;
}

function checkNumber(value: unknown, what: string, min: number, max: number): void {
  if (typeof value === "number" && value >= min && value <= max) return;
  throw refused(`${what} must be a number from ${min} to ${max}`);
}
