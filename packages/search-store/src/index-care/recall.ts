import { queryAs } from "../access.ts";
import { checkMembers, checkWhole } from "../checks.ts";
import type { ResolvedOptions } from "../options.ts";
import { sendSearch } from "../search/search.ts";
import type { Wanted } from "../search/statement.ts";

export interface RecallRequest {
  /** Number of stored embeddings to search for, 1 to 10,000. Default 100. */
  readonly sample?: number | undefined;
  /** Neighbours to find for each embedding, 1 to 100. Default 10. */
  readonly limit?: number | undefined;
  /** Width of the index scan, as in a search. Default 100. */
  readonly efSearch?: number | undefined;
}

export interface Recall {
  /** Share of the true neighbours that an ordinary search finds, 0 to 1. */
  readonly recall: number;
  readonly queries: number;
  /** Median time of an exact search, in milliseconds. */
  readonly exactMs: number;
  /** Median time of an ordinary search, in milliseconds. */
  readonly liveMs: number;
}

type SampleRow = { document_id: string; ordinal: number; embedding: string };

// The ordinary and the exact search may round the distance of the same two embeddings differently.
const EQUAL = 1e-6;

/**
 * Searches for the neighbours of some stored embeddings with an ordinary and with an exact search, and returns the
 * share of true neighbours that the ordinary search finds. The embedding itself does not count, since every search
 * finds it.
 *
 * @throws SearchError `ERR_SVC_SEARCH_ARGUMENT`
 */
export async function measureRecall(
  options: ResolvedOptions,
  tenant: string,
  request: RecallRequest = {},
): Promise<Recall> {
  checkMembers(request, "the second argument of recall()", ["sample", "limit", "efSearch"]);
  const { sample = 100, limit = 10, efSearch = 100 } = request;
  checkWhole(sample, "sample", 1, 10_000);
  checkWhole(limit, "limit", 1, 100);
  checkWhole(efSearch, "efSearch", 1, 1000);
  const { quotedTable, vectorType } = options;
  // A vector of zeros has no neighbours.
  const selectSample = `
select document_id, ordinal, embedding::text as embedding from ${quotedTable}
where tenant_id = $1::text and (embedding <=> embedding) <> 'NaN'
order by random() limit $2::int`;
  // The `+ 0` prevents the use of an index.
  const selectExact = `
select (embedding <=> $2::${vectorType}) + 0 as distance from ${quotedTable}
where tenant_id = $1::text and (document_id, ordinal) <> ($4::text, $5::int)
order by distance limit $3::int`;
  const asked = await queryAs<SampleRow>(options, tenant, selectSample, [tenant, sample]);
  const exactMs: number[] = [];
  const liveMs: number[] = [];
  let wanted = 0;
  let found = 0;
  for (const row of asked.rows) {
    const exact = await timed(exactMs, () =>
      queryAs<{ distance: number }>(options, tenant, selectExact, [
        tenant,
        row.embedding,
        limit,
        row.document_id,
        row.ordinal,
      ]),
    );
    const hits = await timed(liveMs, () =>
      sendSearch(options, tenant, neighbours(row.embedding, limit, efSearch)),
    );
    const farthest = exact.rows.at(-1)?.distance;
    if (farthest === undefined) continue;
    // Compare by distance, not by row: two rows at the same distance are equally correct.
    const near = hits.filter(
      (hit) =>
        (hit.document_id !== row.document_id || hit.ordinal !== row.ordinal) &&
        1 - (hit.score ?? Number.NaN) <= farthest + EQUAL,
    );
    wanted += exact.rows.length;
    found += Math.min(near.length, exact.rows.length);
  }
  return {
    recall: wanted === 0 ? 1 : found / wanted,
    queries: asked.rows.length,
    exactMs: median(exactMs),
    liveMs: median(liveMs),
  };
}

function neighbours(vector: string, limit: number, efSearch: number): Wanted {
  return {
    vector,
    text: undefined,
    condition: undefined,
    limit: limit + 1,
    candidates: 40,
    efSearch,
    minScore: undefined,
    weights: { vector: 1, text: 1 },
    rrfK: 60,
  };
}

async function timed<T>(into: number[], work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const answer = await work();
  into.push(performance.now() - started);
  return answer;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
