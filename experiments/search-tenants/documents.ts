import type { BulkChunk, Filter, SearchRequest } from "@svc/search-store";

/** Random draws that repeat for the same seed. */
export interface Draws {
  below(bound: number): number;
  of<T>(choices: readonly T[]): T;
  vector(): number[];
}

export const DIMENSIONS = 32;

export function createDraws(seed: number): Draws {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (bound: number): number => Math.floor(next() * bound);
  return {
    below,
    of: (choices) => choices[below(choices.length)] as (typeof choices)[number],
    vector: () => Array.from({ length: DIMENSIONS }, () => next() * 2 - 1),
  };
}

/** Returns tenant names: some differ only slightly, some break an unquoted statement. */
export function tenantNames(count: number): readonly string[] {
  const odd = [
    "acme",
    "ACME",
    "acme ",
    "acme%",
    "ac_e",
    "a'--",
    "' or '1'='1",
    'a"b',
    "$1",
    "null",
    "\\",
    "🙂",
    "\u00e9",
    "e\u0301",
  ];
  return Array.from({ length: count }, (_, at) => odd[at] ?? `tenant-${at}`);
}

/** The documents of one tenant. Some of its vectors are identical to those of the tenant before it. */
export interface Held {
  readonly tenant: string;
  readonly chunks: readonly BulkChunk[];
  readonly vectors: readonly (readonly number[])[];
}

/** Returns documents with the same ids for every tenant; `meta.owner` names the tenant. */
export function documentsOf(tenants: readonly string[], documents: number, draws: Draws): readonly Held[] {
  const held: Held[] = [];
  for (const [at, tenant] of tenants.entries()) {
    const neighbour = held.at(-1);
    const vectors = Array.from(
      { length: documents },
      (_, n) => (n % 10 === 0 ? neighbour?.vectors[n] : undefined) ?? draws.vector(),
    );
    const chunks = vectors.map((embedding, n) => ({
      documentId: `d${n}`,
      content: `${words(draws, 8)} only${at}`,
      meta: { owner: tenant, kind: draws.below(5), n, nested: { tenant_id: tenant } },
      embedding,
    }));
    held.push({ tenant, chunks, vectors });
  }
  return held;
}

function words(draws: Draws, count: number): string {
  return Array.from({ length: count }, () => `word${draws.below(200)}`).join(" ");
}

/** One search by a tenant, and the kinds of its query and filter. */
export interface Asked {
  readonly tenant: string;
  /** The tenant whose vectors, words and name the search uses; it may be the searching tenant. */
  readonly other: string;
  readonly request: SearchRequest;
  readonly kind: "vector" | "words" | "hybrid";
  readonly filter: "none" | "plain" | "hostile";
}

/** Draws a random search by one tenant. Half of the query vectors come from the documents of `other`. */
export function drawSearch(held: readonly Held[], draws: Draws): Asked {
  const own = draws.of(held);
  const other = draws.of(held);
  const kind = draws.of(["vector", "words", "hybrid"] as const);
  const filter = draws.of(["none", "plain", "hostile"] as const);
  const vector = draws.below(2) === 0 ? draws.of(other.vectors) : draws.vector();
  const text = draws.of([
    words(draws, 1),
    words(draws, 2),
    `only${held.indexOf(other)}`,
    `word${draws.below(200)} or only${held.indexOf(other)}`,
    `-word${draws.below(200)}`,
    "' or tenant_id <> '' --",
    "a:* & (b | !c) <-> 'd' ::tsquery",
  ]);
  const wanted = filter === "plain" ? { kind: draws.below(5) } : draws.of(hostile(own.tenant, other.tenant));
  return {
    tenant: own.tenant,
    other: other.tenant,
    kind,
    filter,
    request: {
      ...(kind === "words" ? {} : { vector }),
      ...(kind === "vector" ? {} : { text }),
      ...(filter === "none" ? {} : { filter: wanted }),
      limit: draws.of([1, 5, 10, 100]),
      efSearch: draws.of([1, 100, 1000]),
      ...(draws.below(4) === 0 && kind !== "words" ? { minScore: -1 } : {}),
    },
  };
}

/** Returns filters that try to reach another tenant's documents, or to break the statement. */
function hostile(own: string, other: string): readonly Filter[] {
  const breaks = `x' or true or 'x`;
  const deep = (levels: number): Filter =>
    levels === 0 ? { owner: other } : { or: [deep(levels - 1), { not: {} }] };
  return [
    { owner: other },
    { tenant_id: other },
    { "c.tenant_id": { exists: false } },
    { owner: { in: [other, own] } },
    { or: [{ owner: other }, { owner: { exists: true } }] },
    { not: { owner: own } },
    { not: { not: { not: { owner: own } } } },
    { [breaks]: { exists: false } },
    { [`x' is null) or true --`]: { eq: null } },
    { ['$.x") || true || ("']: { gt: -1 } },
    { "nested.tenant_id": other },
    { owner: breaks },
    { owner: { gte: "", lte: "\u{10ffff}" } },
    { n: { gte: -1e308 } },
    { or: [{ n: { lt: 0 } }, { n: { gte: 0 } }] },
    { ["__proto__"]: { exists: false }, constructor: { exists: false } },
    { and: [], or: [{}] },
    deep(6),
    deep(20),
    { owner: { like: "%" } },
    { owner: { eq: { $ne: own } } },
    { $where: "true" },
    { owner: "\0" },
  ];
}
