import { createCorpus, type Query, recipe, type Size } from "./generator.ts";
import { isApproximate, measure, percentile, reads, type Timed } from "./measure.ts";
import type { Place } from "./place.ts";
import { createShared } from "./shared.ts";
import { type Ask, filterOf, LIMIT, type Side } from "./side.ts";
import { createSvc } from "./svc.ts";
import { exactAnswers, recallOf } from "./truth.ts";

/** How many chunks of how many tenants, and what is asked of them. */
export interface Scenario {
  readonly name: string;
  readonly size: Size;
  readonly queries: number;
  readonly rounds: number;
  readonly asks: readonly { readonly ask: Ask; readonly efSearch: number; readonly metric: string }[];
  /** Of the shared index. */
  readonly efConstruction: number;
  /** Chunks from which on a tenant has an index of its own. */
  readonly indexAbove: number;
  /** Whether both sides are kept from exact plans. */
  readonly force?: boolean | undefined;
}

/** What one side took for one kind of search. */
export interface Row {
  readonly side: Side["name"];
  readonly metric: string;
  readonly recall: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly approximate: boolean;
}

// Those that a hybrid search takes to be near.
const CANDIDATES = 40;

/** Loads both sides with the same chunks and sends both the same searches. */
export async function runScenario(
  place: Place,
  scenario: Scenario,
  note: (line: string) => void,
): Promise<readonly Row[]> {
  const { name, size, force } = scenario;
  const corpus = createCorpus(size);
  const sides = [
    createShared(await place.connect(), scenario),
    createSvc(await place.connect(), scenario),
  ] as const;
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
  const nearest = exactAnswers(corpus, queries, CANDIDATES);
  const rows: Row[] = [];
  const last = new Map<Side, string>();
  for (const { ask, efSearch, metric } of scenario.asks) {
    const filtered =
      ask === "vector" || ask === "hybrid"
        ? nearest
        : exactAnswers(corpus, queries, LIMIT, (query, meta) =>
            Object.entries(filterOf(query, ask)).every(
              ([key, value]) => meta[key as keyof typeof meta] === value,
            ),
          );
    const exact = queries.map((query) => filtered.get(query) ?? []);
    for (const timed of await measure(sides, queries, ask, efSearch, scenario.rounds)) {
      const side = sides.find((each) => each.name === timed.side) as Side;
      await side.widen(efSearch);
      const plan = await side.plan(queries[0] as Query, ask);
      const seen = reads(plan).join("\n    ");
      if (seen !== last.get(side)) note(`${name}: ${side.name}: plan from ${metric} on\n    ${seen}`);
      last.set(side, seen);
      rows.push({
        side: timed.side,
        metric,
        recall: ask === "hybrid" ? agreement(timed, exact) : recallOf(keys(timed), exact.map(first)),
        p50: percentile(timed.times, 0.5),
        p95: percentile(timed.times, 0.95),
        p99: percentile(timed.times, 0.99),
        approximate: isApproximate(plan),
      });
    }
    note(`${name}: ${metric} is measured`);
  }
  return rows;
}

function keys({ found }: Timed): readonly (readonly string[])[] {
  return found.map((hits) => hits.map(({ key }) => key));
}

function first(all: readonly string[]): readonly string[] {
  return all.slice(0, LIMIT);
}

/** Of a hybrid search: the share of its hits that were rightly among the nearest candidates, or rightly not. */
function agreement({ found }: Timed, nearest: readonly (readonly string[])[]): number {
  const right = found.flatMap((hits, at) => {
    const near = new Set(nearest[at]);
    return hits.map(({ key, vectorRank }) => near.has(key) === (vectorRank !== null));
  });
  return right.filter(Boolean).length / right.length;
}
