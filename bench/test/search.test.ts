import { expect } from "chai";
import { ingest } from "../ingest/bench.ts";
import type { BenchOptions } from "../harness/bench.ts";
import { search } from "../search/bench.ts";
import { createCorpus, DIMENSIONS, keyOf, type Meta } from "../search/generator.ts";
import { isApproximate, percentile, reads } from "../search/measure.ts";
import { openInProcess } from "../search/embedded.ts";
import type { Place } from "../search/place.ts";
import { runPlugin } from "../search/plugin.ts";
import { type Row, runScenario } from "../search/scenario.ts";
import { embeddedScenario } from "../search/scenarios.ts";
import { NoVectorServerError, openServer } from "../search/server.ts";
import { exactAnswers, recallOf } from "../search/truth.ts";
import { comparisons, filterVerdicts, planVerdicts, recallVerdict } from "../search/verdicts.ts";

const options: BenchOptions = {
  json: true,
  quick: true,
  socket: false,
  record: false,
  only: ["nothing"],
  rounds: 1,
  print: () => undefined,
  note: () => undefined,
};

describe("the search and ingest benchmarks", function () {
  this.timeout(60_000);

  it("generate the same unit vectors each time, even for a part of the corpus", () => {
    const corpus = createCorpus({ tenants: 3, perTenant: 50 });
    const chunks = [...corpus.chunksOf("t0002")];
    expect(chunks).to.deep.equal([...createCorpus({ tenants: 3, perTenant: 50 }).chunksOf("t0002")]);
    expect(chunks.map(({ meta }) => meta)).to.deep.equal(corpus.metaOf("t0002"));
    expect(chunks.flatMap(({ embedding }) => [...embedding])).to.deep.equal([...corpus.vectorsOf("t0002")]);
    expect(chunks.map(({ documentId, ordinal }) => `${documentId}/${ordinal}`)).to.deep.equal(
      chunks.map((_, at) => keyOf(at)),
    );
    for (const { embedding, content } of chunks) {
      expect(Math.hypot(...embedding)).to.be.closeTo(1, 1e-6);
      expect(content.split(" ")).to.have.lengthOf(40);
    }
    expect([...corpus.chunksOf("t0001")][0]?.embedding).to.not.deep.equal(chunks[0]?.embedding);
    expect(chunks[0]?.embedding).to.have.lengthOf(DIMENSIONS);
    expect(new Set(corpus.queries(12).map(({ tenant }) => tenant))).to.deep.equal(new Set(corpus.tenants));
  });

  it("find the nearest chunks exactly, with and without a filter", () => {
    const corpus = createCorpus({ tenants: 1, perTenant: 200 });
    const chunks = [...corpus.chunksOf("t0000")];
    const queries = corpus.queries(3);
    const products = (query: Float32Array): Map<string, number> =>
      new Map(
        chunks.map(({ embedding }, at) => [
          keyOf(at),
          embedding.reduce((sum, value, place) => sum + value * (query[place] ?? 0), 0),
        ]),
      );
    const passes = (_: unknown, meta: Meta): boolean => meta.kind === "note";
    const [all, notes] = exactAnswers(corpus, queries, [{ limit: 10 }, { limit: 10, passes }]);
    for (const query of queries) {
      const sorted = [...products(query.vector)].toSorted((a, b) => b[1] - a[1]).map(([key]) => key);
      expect(all?.get(query)).to.deep.equal(sorted.slice(0, 10));
      const kinds = new Map(chunks.map(({ meta }, at) => [keyOf(at), meta.kind]));
      expect(notes?.get(query)).to.deep.equal(sorted.filter((key) => kinds.get(key) === "note").slice(0, 10));
    }
    expect(
      recallOf(
        [["a", "b"], ["x"]],
        [
          ["b", "c"],
          ["x", "y"],
        ],
      ),
    ).to.equal(0.5);
  });

  it("compare svc with the shared index at the settings with sufficient recall", () => {
    const row = (side: Row["side"], metric: string, recall: number, p50: number): Row => ({
      side,
      metric,
      recall,
      p50,
      p95: p50,
      p99: p50,
      approximate: side === "svc" || metric !== "ef400",
    });
    const shared = [
      row("shared", "ef100", 0.9, 5),
      row("shared", "ef200", 0.96, 8),
      row("shared", "ef400", 0.99, 14),
    ];
    const ours = [row("svc", "ef100", 0.985, 3), row("svc", "ef200", 0.995, 5)];
    expect(recallVerdict([...shared, ...ours])).to.deep.equal({
      mark: "ok",
      text: "svc has 0.995 at ef200 in 5.00 ms; shared has 0.960 at ef200 in 8.00 ms: 0.63 x, bound below 1",
    });
    expect(recallVerdict([...shared, row("svc", "ef100", 0.995, 9)]).mark).to.equal("FAIL");
    expect(recallVerdict([...shared, row("svc", "ef100", 0.98, 1)]).text).to.include("at any ef_search");
    expect(planVerdicts(shared).map(({ mark }) => mark)).to.deep.equal(["ok", "ok", "FAIL"]);
    const exact = { ...row("partitions", "ef100", 1, 2), approximate: false };
    expect(planVerdicts([exact]).map(({ mark }) => mark)).to.deep.equal([""]);
    const filtered = [
      row("svc", "vector", 1, 2),
      row("svc", "filtered", 1, 1),
      row("svc", "filtered-rare", 1, 3),
    ];
    expect(filterVerdicts(filtered).map(({ mark }) => mark)).to.deep.equal(["ok", "FAIL"]);
    const partial = row("partial", "ef100", 0.99, 2.5);
    expect(comparisons([...shared, partial, ...ours])).to.deep.equal([
      { mark: "", text: "svc ef100: 0.60 x shared, recall 0.985 to 0.900" },
      { mark: "", text: "svc ef200: 0.63 x shared, recall 0.995 to 0.960" },
      { mark: "LESS", text: "svc ef100: 1.20 x partial, recall 0.985 to 0.990" },
    ]);
  });

  it("run every compared layout on the same chunks and with an approximate index", async () => {
    await using place = await openInProcess();
    const noted: string[] = [];
    const scenario = { ...embeddedScenario(true, 1), size: { tenants: 2, perTenant: 120 }, queries: 4 };
    const asks = [...scenario.asks.slice(0, 1), { ask: "hybrid", efSearch: 100, metric: "hybrid" } as const];
    const rows = await runScenario(place, { ...scenario, asks }, (line) => void noted.push(line));
    const sides = ["shared", "partial", "partitions", "svc"];
    expect(rows.map(({ side, metric, recall }) => [side, metric, recall])).to.deep.equal(
      ["ef100", "hybrid"].flatMap((metric) => sides.map((side) => [side, metric, 1])),
    );
    expect(rows.filter(({ metric }) => metric === "ef100").every(({ approximate }) => approximate)).to.equal(
      true,
    );
    expect(noted.join("\n"))
      .to.include("partial: approximate index: one for each of 2 tenants")
      .and.to.include("partitions: approximate index: one for each of 2 partitions");
  });

  it("distinguish an approximate plan from an exact plan, and list what a plan reads", () => {
    const plan = [
      "Limit",
      "  ->  Index Scan using shared_hnsw on shared_chunks",
      "        Order By: (embedding <=> '[1,2,3]'::vector)",
      "        Filter: (tenant_id = 't0000'::text)",
    ];
    expect(isApproximate(plan)).to.equal(true);
    expect(
      isApproximate(["Sort", "  Sort Key: ((embedding <=> '[1]'::vector))", "  ->  Seq Scan on a"]),
    ).to.equal(false);
    expect(reads(plan)).to.deep.equal([
      "Index Scan using shared_hnsw on shared_chunks",
      "Order By: (embedding <=> '[...]'::vector)",
      "Filter: (tenant_id = 't0000'::text)",
    ]);
    expect([percentile([5, 1, 3, 2, 4], 0.5), percentile([5, 1, 3, 2, 4], 0.99)]).to.deep.equal([3, 5]);
  });

  it("reject an unknown case, and list the known cases", async () => {
    const reason = (bench: typeof search): Promise<string> =>
      bench.run(options).then(
        () => "none",
        (error: Error) => error.message,
      );
    expect(await reason(search)).to.equal(
      "there is no case nothing; there are tenants-1000, tenants-4, plugin, embedded",
    );
    expect(await reason(ingest)).to.equal(
      "there is no case nothing; there are copy, multi-row, row-by-row, index-after, index-before, embedded",
    );
  });
});

describe("the case `plugin` of the search benchmark", () => {
  let place: Place | undefined;

  before("start a server with pgvector", async function () {
    place = await openServer(undefined).catch((error: unknown) => {
      if (!(error instanceof NoVectorServerError)) throw error;
      return this.skip();
    });
  });
  after("stop the server", async () => {
    await place?.[Symbol.asyncDispose]();
  });

  it("finds the same hits with a search store and through services with and without spans", async () => {
    const printed: string[] = [];
    const print = (line: string): void => void printed.push(line);
    const verdicts = await runPlugin(place?.url ?? "", { ...options, json: false, print });
    const names = verdicts.map(({ text }) => text.split(":")[0]);
    expect(names).to.deep.equal(["plugin/control", "plugin/service", "plugin/traced"]);
    const sides = printed.map((line) => line.split(" ")[0]);
    expect(sides).to.deep.equal(["plugin", "by-hand", "service", "traced", "control"]);
  });
});
