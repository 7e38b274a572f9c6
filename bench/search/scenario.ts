import { createByHand } from "./by-hand.ts";
import { createCorpus, type Meta, type Query, recipe, type Size } from "./generator.ts";
import { partialLayout, partitionsLayout, sharedLayout } from "./layouts.ts";
import { isApproximate, measure, percentile, reads } from "./measure.ts";
import type { Place } from "./place.ts";
import { type Ask, filterOf, type Found, LIMIT, type Side } from "./side.ts";
import { createSvc } from "./svc.ts";
import { exactAnswers, recallOf, type Wanted } from "./truth.ts";

/** The size of a corpus, and the searches in it. */
export interface Scenario {
  readonly name: string;
  readonly size: Size;
  readonly queries: number;
  readonly rounds: number;
  readonly asks: readonly { readonly ask: Ask; readonly efSearch: number; readonly metric: string }[];
  /** The `ef_construction` of handmade indexes. */
  readonly efConstruction: number;
  /** The number of chunks from which a tenant gets its own index. */
  readonly indexAbove: number;
  /** Whether the planner must not use exact plans on any side. */
  readonly force?: boolean | undefined;
}

/** The results of one compared layout for one kind of search. */
export interface Row {
  readonly side: Side["name"];
  readonly metric: string;
  readonly recall: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly approximate: boolean;
}

/** The number of nearest candidates in a hybrid search. */
const CANDIDATES = 40;

/** Loads all sides with the same chunks and sends the same searches to all of them. */
export async function runScenario(
  place: Place,
  scenario: Scenario,
  note: (line: string) => void,
): Promise<readonly Row[]> {
  const { name, size, force } = scenario;
  const corpus = createCorpus(size);
  const settled = { ...scenario, tenants: corpus.tenants, perTenant: size.perTenant };
  const sides: Side[] = [];
  // `shared` comes first, because the other handmade layouts copy its rows.
  for (const layoutOf of [sharedLayout, partialLayout, partitionsLayout])
    sides.push(createByHand(await place.connect(), layoutOf(settled)));
  sides.push(createSvc(await place.connect(), scenario));
  const chunks = size.tenants * size.perTenant;
  note(`${name}: ${chunks} chunks over ${size.tenants} tenants; ${recipe}`);
  for (const side of sides) await side.prepare();
  for (const tenant of corpus.tenants) {
    const made = [...corpus.chunksOf(tenant)];
    for (const side of sides) await side.load(tenant, made);
  }
  note(`${name}: loaded`);
  for (const side of sides) note(`${name}: ${side.name}: approximate index: ${await side.index()}`);
  if (force === true) await place.preferApproximate();

  const queries = corpus.queries(scenario.queries);
  const contests = scenario.asks.flatMap((asked) => sides.map((side) => ({ ...asked, side })));
  const plans = new Set<string>();
  for (const { side, metric, efSearch, ask } of contests) {
    await side.widen(efSearch);
    const plan = reads(await side.plan(queries[0] as Query, ask)).join("\n    ");
    if (!plans.has(plan)) note(`${name}: ${side.name}: the plan of ${metric} reads\n    ${plan}`);
    plans.add(plan);
  }
  const timed = await measure(contests, queries, scenario.rounds);
  note(`${name}: measured`);

  const asks = [...new Set(scenario.asks.map(({ ask }) => ask))];
  const answers = exactAnswers(corpus, queries, asks.map(wantedOf));
  const rows: Row[] = [];
  for (const [at, { side, ask, efSearch, times, found }] of timed.entries()) {
    const exact = answers[asks.indexOf(ask)];
    const wanted = queries.map((query) => exact?.get(query) ?? []);
    await side.widen(efSearch);
    rows.push({
      side: side.name,
      metric: contests[at]?.metric ?? "",
      recall: ask === "hybrid" ? agreement(found, wanted) : recallOf(keys(found), wanted),
      p50: percentile(times, 0.5),
      p95: percentile(times, 0.95),
      p99: percentile(times, 0.99),
      approximate: isApproximate(await side.plan(queries[0] as Query, ask)),
    });
  }
  return rows;
}

/** Returns the expected hits: for a hybrid search all nearest candidates, although the search returns fewer hits. */
function wantedOf(ask: Ask): Wanted {
  if (ask === "hybrid") return { limit: CANDIDATES };
  return {
    limit: LIMIT,
    passes: (query, meta) =>
      Object.entries(filterOf(query, ask)).every(([key, value]) => meta[key as keyof Meta] === value),
  };
}

type Hits = readonly (readonly Found[])[];

function keys(found: Hits): readonly (readonly string[])[] {
  return found.map((hits) => hits.map(({ key }) => key));
}

/**
 * Returns the share of a hybrid search's hits that have a `vectorRank` exactly when they are among the nearest neighbors.
 */
function agreement(found: Hits, nearest: readonly (readonly string[])[]): number {
  const right = found.flatMap((hits, at) => {
    const near = new Set(nearest[at]);
    return hits.map(({ key, vectorRank }) => near.has(key) === (vectorRank !== null));
  });
  return right.filter(Boolean).length / right.length;
}
