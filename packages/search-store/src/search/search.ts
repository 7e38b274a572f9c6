import { isPool } from "@svc/sql";
import { namesTenants, query, queryAs } from "../access.ts";
import type { Meta } from "../chunk.ts";
import { vectorText } from "../embedding.ts";
import { embedTexts } from "../embed.ts";
import type { ResolvedOptions } from "../options.ts";
import { checkRequest, type SearchRequest } from "./check-request.ts";
import { type HitRow, legsOf, searchStatement, type Wanted } from "./statement.ts";

export interface Hit {
  readonly documentId: string;
  readonly ordinal: number;
  readonly content: string;
  readonly meta: Meta;
  /** 1 - cosine distance (SEARCH-5), in [-1, 1]; null without a vector. */
  readonly score: number | null;
  /** Sum of `weight / (rrfK + rank)` over the two ranks. */
  readonly fusedScore: number;
  /** Rank in semantic search, from 1; null if the chunk was not a candidate. */
  readonly vectorRank: number | null;
  /** Rank in text search, from 1; null if the chunk was not a candidate. */
  readonly textRank: number | null;
}

/**
 * Searches one tenant's chunks by meaning, by text, or by both (SEARCH-1, SEARCH-3 to SEARCH-5). Returns the hits and the
 * span attributes. The caller must have checked the tenant.
 *
 * @throws SearchError for an invalid request, and if the embedding fails
 * @throws the reason of the request's signal when it aborts
 */
export async function searchTenant(options: ResolvedOptions, tenant: string, request: SearchRequest) {
  const wanted = checkRequest(options, request);
  const { signal, filter } = request;
  signal?.throwIfAborted();
  const vector = await vectorOf(options, wanted, signal);
  const { limit, text } = wanted;
  const found = { hybrid: vector !== undefined && text !== undefined, filtered: filter !== undefined, limit };
  const whole = { ...wanted, vector };
  const legs = legsOf(whole);
  // The text is blank, or all requested search types have the weight 0.
  if (legs.vector === undefined && legs.text === undefined) return { ...found, hits: [] as readonly Hit[] };
  const rows = await sendSearch(options, tenant, whole);
  return { ...found, hits: rows.map(hitOf) };
}

/**
 * Sends a search. On a pool, the statement itself sets the tenant for row security. On the caller's connection it must
 * not, since an open transaction may have another tenant. A database that sets tenants itself rejects a statement that
 * sets the tenant.
 */
export async function sendSearch(
  options: ResolvedOptions,
  tenant: string,
  wanted: Wanted,
): Promise<readonly HitRow[]> {
  const { text, values } = searchStatement(options, tenant, wanted);
  const alone = options.rowSecurity === undefined || !namesTenants(options.db);
  const { rows } =
    isPool(options.db) && alone
      ? await query<HitRow>(options.db, text, values)
      : await queryAs<HitRow>(options, tenant, text, values);
  return rows;
}

async function vectorOf(
  options: ResolvedOptions,
  { vector, text, weights }: Wanted,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  if (vector !== undefined || text === undefined || options.embed === undefined) return vector;
  if (weights.vector === 0) return undefined;
  const [embedded] = await embedTexts(options, [text], signal);
  signal?.throwIfAborted();
  return embedded === undefined ? undefined : vectorText(embedded);
}

function hitOf(row: HitRow): Hit {
  return {
    documentId: row.document_id,
    ordinal: row.ordinal,
    content: row.content,
    meta: row.meta,
    // An embedding written by other code may be all zeros; the score is then NaN.
    score: Number.isNaN(row.score) ? null : row.score,
    fusedScore: row.fused,
    vectorRank: row.vector_rank,
    textRank: row.text_rank,
  };
}
