import { type Corpus, DIMENSIONS, keyOf, type Meta, type Query } from "./generator.ts";

/** The number of expected hits, and the chunks that may be hits. */
export interface Wanted {
  readonly limit: number;
  /** Default: all chunks pass. */
  readonly passes?: ((query: Query, meta: Meta) => boolean) | undefined;
}

/** Names of chunks by query, the nearest first. */
export type Answers = ReadonlyMap<Query, readonly string[]>;

/**
 * Returns the hits of an exact search for each query and each kind of search, computed without a server from vectors
 * that are not rounded.
 */
export function exactAnswers(
  corpus: Corpus,
  queries: readonly Query[],
  wanted: readonly Wanted[],
): readonly Answers[] {
  const answers = wanted.map(() => new Map<Query, readonly string[]>());
  for (const tenant of new Set(queries.map((query) => query.tenant))) {
    const vectors = corpus.vectorsOf(tenant);
    const meta = corpus.metaOf(tenant);
    for (const query of queries.filter((each) => each.tenant === tenant)) {
      for (const [at, { limit, passes }] of wanted.entries()) {
        const skips = (chunk: number): boolean => passes?.(query, meta[chunk] as Meta) === false;
        answers[at]?.set(query, nearest(vectors, query.vector, limit, skips).map(keyOf));
      }
    }
  }
  return answers;
}

/** Returns the share of an exact search's hits that a search found, over all queries. */
export function recallOf(
  found: readonly (readonly string[])[],
  exact: readonly (readonly string[])[],
): number {
  let [hits, all] = [0, 0];
  for (const [at, wanted] of exact.entries()) {
    const got = new Set(found[at]);
    all += wanted.length;
    hits += wanted.filter((key) => got.has(key)).length;
  }
  return hits / all;
}

// All vectors have unit length, so the largest product is the smallest cosine distance.
function nearest(
  vectors: Float32Array,
  to: Float32Array,
  limit: number,
  skips: (at: number) => boolean,
): number[] {
  const best: { at: number; product: number }[] = [];
  for (let at = 0; at < vectors.length / DIMENSIONS; at++) {
    if (skips(at)) continue;
    let product = 0;
    const from = at * DIMENSIONS;
    for (let dimension = 0; dimension < DIMENSIONS; dimension++) {
      product += (vectors[from + dimension] as number) * (to[dimension] as number);
    }
    if (best.length === limit && product <= (best[limit - 1]?.product ?? 0)) continue;
    const place = best.findIndex((each) => each.product < product);
    best.splice(place === -1 ? best.length : place, 0, { at, product });
    if (best.length > limit) best.pop();
  }
  return best.map(({ at }) => at);
}
