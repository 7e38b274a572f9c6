import { compileCondition } from "../filter/compile.ts";
import type { Condition } from "../filter/parse-filter.ts";
import { indexed } from "../index-care/tenant-index.ts";
import type { ResolvedOptions } from "../options.ts";
import { createParameters, type Parameters } from "../parameters.ts";

/** One hit as the database returns it. */
export interface HitRow extends Record<string, unknown> {
  readonly document_id: string;
  readonly ordinal: number;
  readonly content: string;
  readonly meta: Record<string, unknown>;
  readonly score: number | null;
  readonly fused: number;
  readonly vector_rank: number | null;
  readonly text_rank: number | null;
}

/** A validated search. */
export interface Wanted {
  /** Vector in the server's text format; undefined for text search only. */
  readonly vector: string | undefined;
  /** The full-text query; undefined for semantic search only. */
  readonly text: string | undefined;
  /** Condition on the metadata. */
  readonly condition: Condition | undefined;
  readonly limit: number;
  readonly candidates: number;
  readonly efSearch: number;
  readonly minScore: number | undefined;
  readonly weights: { readonly vector: number; readonly text: number };
  readonly rrfK: number;
}

type Table = Pick<
  ResolvedOptions,
  "dimensions" | "filterKeys" | "precision" | "quotedTable" | "rowSecurity" | "textConfig" | "vectorType"
>;

const MAX_WORDS = 64;

interface Site {
  /** Condition for every candidate; `c` is the row. */
  readonly own: string;
  readonly parameters: Parameters;
}

/**
 * Returns the whole search as one statement (SEARCH-1, SEARCH-3).
 *
 * The first common table expression changes settings for the statement's own transaction, and all others wait for it.
 * So the search is one round trip, and a pooled connection keeps no setting. The statement has no name, so the server
 * plans it with its values: only then does it know that `tenant_id = $1` matches the condition of the tenant's partial
 * index.
 *
 * The names of the expressions begin with `_svc_`, because an expression hides a table of the same name.
 */
export function searchStatement(
  table: Table,
  tenant: string,
  wanted: Wanted,
): { readonly text: string; readonly values: unknown[] } {
  const legs = legsOf(wanted);
  const parameters = createParameters();
  const tenantIs = `c.tenant_id = ${parameters.add(tenant, "text")}`;
  const { condition } = wanted;
  const own =
    condition === undefined
      ? tenantIs
      : `${tenantIs} and ${compileCondition(condition, parameters, table.filterKeys)}`;
  const site: Site = { own, parameters };
  const { vector, minScore } = wanted;
  const score =
    vector === undefined ? "null::float8" : `1 - (${exact(table, parameters, vector, "c.embedding")})`;
  // Apply minScore after the limits; a NaN score never passes.
  const passes =
    minScore === undefined
      ? ""
      : `where hit.score >= ${parameters.add(minScore, "float8")} and hit.score <> 'NaN'\n`;
  const text = `with _svc_s as materialized (
  select num_nonnulls(${settings(table, tenant, wanted, parameters)}) as ready
)${nearest(table, site, legs)}${best(table, site, legs)},
_svc_f as (
  ${fused(parameters, legs)}
  order by fused desc, document_id, ordinal
  limit ${parameters.add(wanted.limit, "int")}
)
select f.document_id, f.ordinal, hit.content, hit.meta, hit.score, f.fused, f.vector_rank, f.text_rank
from _svc_f as f, lateral (
  select c.content, c.meta, ${score} as score
  from ${table.quotedTable} as c
  where ${tenantIs} and c.document_id = f.document_id and c.ordinal = f.ordinal
  limit 1
) as hit
${passes}order by f.fused desc, f.document_id, f.ordinal`;
  return { text, values: parameters.values };
}

/**
 * Drops search types with the weight 0, which propose no candidates; a given vector still determines the score of every hit.
 */
export function legsOf(wanted: Wanted): Wanted {
  const { vector, text, weights } = wanted;
  return {
    ...wanted,
    vector: weights.vector === 0 ? undefined : vector,
    text: weights.text === 0 ? undefined : text,
  };
}

function settings(table: Table, tenant: string, wanted: Wanted, parameters: Parameters): string {
  const set = (name: string, value: string): string =>
    `set_config(${parameters.add(name, "text")}, ${parameters.add(value, "text")}, true)`;
  const made: string[] = [];
  if (wanted.vector !== undefined) {
    // Without iterative scans, a selective filter would return fewer hits than exist.
    made.push(set("hnsw.ef_search", String(wanted.efSearch)), set("hnsw.iterative_scan", "strict_order"));
  }
  if (table.rowSecurity !== undefined) made.push(set(table.rowSecurity.setting, tenant));
  return made.length === 0 ? "1" : made.join(", ");
}

function exact({ vectorType }: Table, parameters: Parameters, vector: string, column: string): string {
  return `${column} <=> ${parameters.add(vector, vectorType)}`;
}

function nearest(
  table: Table,
  { own, parameters }: Site,
  { vector, text, limit, candidates }: Wanted,
): string {
  if (vector === undefined) return "";
  const half = table.precision === "half";
  // With full precision the index holds half precision: re-rank twice as many candidates by their exact distance.
  const count = half && text === undefined ? limit : Math.max(candidates, half ? limit : 2 * limit);
  const approximate = `${indexed(table, "c.embedding")} <=> ${parameters.add(vector, `halfvec(${table.dimensions})`)}`;
  // The sort carries all selected columns: with half precision select only the distance, not the embedding.
  const carried = half ? `${approximate} as distance` : "c.embedding";
  const distance = half ? "near.distance" : exact(table, parameters, vector, "near.embedding");
  return `,
_svc_v as (
  select near.document_id, near.ordinal,
    row_number() over (order by ${distance}, near.document_id, near.ordinal)::int as rank
  from _svc_s as s, lateral (
    select c.document_id, c.ordinal, ${carried}
    from ${table.quotedTable} as c
    where s.ready > 0 and ${own}
    order by ${approximate}
    limit ${parameters.add(count, "int")}
  ) as near
)`;
}

function best(table: Table, { own, parameters }: Site, { text, limit, candidates }: Wanted): string {
  if (text === undefined) return "";
  // Uses ts_rank(): the time of ts_rank_cd() grows with the square of the number of words.
  const words = `websearch_to_tsquery('${table.textConfig}', ${parameters.add(firstWords(text), "text")})`;
  return `,
_svc_t as (
  select best.document_id, best.ordinal,
    row_number() over (order by best.relevance desc, best.document_id, best.ordinal)::int as rank
  from _svc_s as s, lateral (
    select c.document_id, c.ordinal, ts_rank(c.tsv, ${words}) as relevance
    from ${table.quotedTable} as c
    where s.ready > 0 and numnode(${words}) > 0 and ${own} and c.tsv @@ ${words}
    order by relevance desc, c.document_id, c.ordinal
    limit ${parameters.add(Math.max(candidates, limit), "int")}
  ) as best
)`;
}

// A dash without a following word or phrase. The server would nest one negation per dash; about thirty are too many for
// it.
const LONE_DASH = /-(?![\p{L}\p{N}\p{M}\p{So}"])/gu;

/** Returns the first words of a query: each word is matched against every candidate, so a whole page would be too slow. */
function firstWords(given: string): string {
  const text = given.replaceAll(LONE_DASH, " ");
  let count = 0;
  for (const { index } of text.matchAll(/[\p{L}\p{N}]+/gu)) {
    if (++count > MAX_WORDS) return text.slice(0, index);
  }
  return text;
}

/**
 * Returns the SQL expression of the reciprocal rank fusion; for a single search type, it keeps the order of the ranks.
 */
function fused(parameters: Parameters, { vector, text, weights, rrfK }: Wanted): string {
  const part = (rank: string, weight: number): string =>
    `${parameters.add(weight, "float8")} / (${parameters.add(rrfK, "float8")} + ${rank})`;
  if (text === undefined) {
    const score = part("v.rank", weights.vector);
    return `select v.document_id, v.ordinal, ${score} as fused, v.rank as vector_rank, null::int as text_rank from _svc_v as v`;
  }
  const byWords = part("t.rank", weights.text);
  if (vector === undefined) {
    return `select t.document_id, t.ordinal, ${byWords} as fused, null::int as vector_rank, t.rank as text_rank from _svc_t as t`;
  }
  return `select document_id, ordinal, coalesce(${part("v.rank", weights.vector)}, 0) + coalesce(${byWords}, 0) as fused,
    v.rank as vector_rank, t.rank as text_rank
  from _svc_v as v full join _svc_t as t using (document_id, ordinal)`;
}
