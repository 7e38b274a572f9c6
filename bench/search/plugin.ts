import { RequestContext, runWithContext } from "@svc/context";
import { createDatabase, type Database } from "@svc/database";
import { createSearchStore, type Hit } from "@svc/search-store";
import pg from "pg";
import type { BenchOptions } from "../harness/bench.ts";
import { expectEqual } from "../harness/expect-equal.ts";
import type { Verdict } from "../harness/verdicts.ts";
import { columns } from "../queue/verdicts.ts";
import {
  BASE,
  CONTROL,
  measureBeside,
  type Side,
  type Sides,
  type Times,
  verdictsBeside,
} from "../harness/beside.ts";
import { type Corpus, createCorpus, DIMENSIONS, type Query } from "./generator.ts";
import { percentile } from "./measure.ts";
import { CONNECTIONS, FILTER_KEYS, type SearchService, startSearchService, TABLE } from "./search-service.ts";
import { LIMIT } from "./side.ts";

/** Maximum ratios of a search through a service to the same search of a store. */
const BOUNDS = { service: 1.05, traced: 1.1 };

/** One way to search in the tenant of the current context. */
interface Searcher {
  readonly search: (query: Query) => Promise<readonly Hit[]>;
  /** Wraps a search, outside its measured time. */
  readonly around?: SearchService["around"];
}

type Searchers = Readonly<Record<string, Searcher>>;

/** Measures a search through the plugin `rag` of a service, with and without tracing, and the same search with a store. */
export async function runPlugin(url: string, options: BenchOptions): Promise<readonly Verdict[]> {
  const { quick, rounds = quick ? 1 : 12, note } = options;
  const corpus = createCorpus(quick ? { tenants: 4, perTenant: 100 } : { tenants: 20, perTenant: 300 });
  await load(url, corpus);
  note(`plugin: loaded ${corpus.size.perTenant} chunks for each of ${corpus.size.tenants} tenants`);
  const queries = corpus.queries(quick ? 10 : 100);
  const times = await measureBeside(() => openSides(url, queries), queries, rounds, options);
  report(times, options);
  return verdictsBeside("plugin", times, BOUNDS);
}

async function openSides(url: string, queries: readonly Query[]): Promise<Sides<Query>> {
  await using made = new AsyncDisposableStack();
  const db = made.use(createDatabase({ url, max: CONNECTIONS }));
  const otherDb = made.use(createDatabase({ url, max: CONNECTIONS }));
  const service = made.use(await startSearchService(url, false));
  const traced = made.use(await startSearchService(url, true));
  const searchers: Searchers = { [BASE]: byHand(db), service, traced, [CONTROL]: byHand(otherDb) };
  await proveHits(searchers, queries);
  for (const query of queries.slice(0, 1)) {
    await proveSpans("service", service, query, 0);
    // Expect three spans: of the request, of the search and of its statement.
    await proveSpans("traced", traced, query, 3);
  }
  const all = Object.entries(searchers).map(([name, searcher]) => sideOf(name, searcher));
  const open = made.move();
  return { all, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

async function load(url: string, corpus: Corpus): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on("error", () => undefined);
  try {
    const store = storeOn(pool);
    await store.ensureSchema();
    for (const tenant of corpus.tenants) await store.ingestBulk(tenant, corpus.chunksOf(tenant));
    await pool.query(`vacuum analyze ${TABLE}`);
  } finally {
    await pool.end();
  }
}

function storeOn(db: pg.Pool | Database) {
  return createSearchStore({ db, table: TABLE, dimensions: DIMENSIONS, filterKeys: FILTER_KEYS });
}

function byHand(db: Database): Searcher {
  const store = storeOn(db);
  return { search: ({ tenant, vector }) => store.search(tenant, { vector, limit: LIMIT }) };
}

/** @throws Error if a side returns other hits than the first side, or not exactly LIMIT hits */
async function proveHits(searchers: Searchers, queries: readonly Query[]): Promise<void> {
  for (const query of queries) {
    let expected: string | undefined;
    for (const [name, searcher] of Object.entries(searchers)) {
      const hits = await inTenant(query, () => searcher.search(query));
      const found = JSON.stringify(hits);
      expected ??= found;
      if (hits.length !== LIMIT || found !== expected)
        throw new Error(`${name} of ${query.tenant}: ${found} is not ${expected}`);
    }
  }
}

async function proveSpans(
  name: string,
  { search, around, spans }: SearchService,
  query: Query,
  expected: number,
): Promise<void> {
  const before = spans();
  await inTenant(query, () => around(() => search(query)));
  expectEqual(`the spans of a search by ${name}`, spans() - before, expected);
}

function sideOf(name: string, { search, around = (work) => work() }: Searcher): Side<Query> {
  return {
    name,
    time: (query) =>
      inTenant(query, () =>
        around(async () => {
          const begun = performance.now();
          await search(query);
          return performance.now() - begun;
        }),
      ),
  };
}

/** Runs `work` in the context of a request of the query's tenant. */
function inTenant<T>({ tenant }: Query, work: () => T): T {
  return runWithContext(new RequestContext({ tenantId: tenant }), work);
}

function report(times: Times, { json, print }: BenchOptions): void {
  const table = [["plugin", "", "searches", "p50 ms", "p95", "p99"]];
  for (const [name, each] of times) {
    const values = { p50: percentile(each, 0.5), p95: percentile(each, 0.95), p99: percentile(each, 0.99) };
    for (const [metric, ms] of Object.entries(values)) {
      const value = Math.round(ms * 10_000) / 10_000;
      if (json)
        print(JSON.stringify({ bench: "search", case: name, metric: `plugin/${metric}`, value, unit: "ms" }));
    }
    table.push([name, "", String(each.length), ...Object.values(values).map((ms) => ms.toFixed(3))]);
  }
  if (!json) for (const line of columns(table)) print(line);
}
