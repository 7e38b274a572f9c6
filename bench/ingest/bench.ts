import type { Bench, BenchOptions } from "../harness/bench.ts";
import { summarise } from "../harness/figures.ts";
import { conclude, judged, unbounded, type Verdict } from "../harness/verdicts.ts";
import { columns } from "../queue/verdicts.ts";
import { openInProcess } from "../search/embedded.ts";
import { createCorpus, type Made } from "../search/generator.ts";
import type { Place } from "../search/place.ts";
import { NoVectorServerError, openServer, VARIABLE } from "../search/server.ts";
import { clear, openSite, type Site, type Way, ways } from "./ways.ts";

const EMBEDDED = "embedded";
const CHUNKS = 10_000;
/** Minimum factor by which one method must be faster than another. */
const BOUNDS = [
  { way: "copy", other: "multi-row", least: 1.5 },
  { way: "copy", other: "row-by-row", least: 4 },
  { way: "index-after", other: "index-before", least: 1.6 },
];

/** Measures the speed of loading chunks into the table, with and without an approximate index. */
export const ingest: Bench = {
  async run(options) {
    const { quick, only, note } = options;
    const names = [...ways.map(({ name }) => name), EMBEDDED];
    const unknown = only?.find((each) => !names.includes(each));
    if (unknown !== undefined) throw new Error(`there is no case ${unknown}; there are ${names.join(", ")}`);
    const asked = ways.filter(({ name }) => only?.includes(name) ?? true);
    // `--only embedded` selects all ways of loading, on the embedded server.
    const chosen = asked.length === 0 ? ways : asked;
    await using place = await openPlace(only?.includes(EMBEDDED) === true, note);
    for (const line of place.about) note(line);
    const chunks = CHUNKS * (quick ? 0.05 : 1) * (place.kind === "embedded" ? 0.2 : 1);
    const rates = await measure(place, chosen, Math.round(chunks), options);
    return conclude(report(place.kind, rates, options), options);
  },
};

async function openPlace(embedded: boolean, note: (line: string) => void): Promise<Place> {
  if (!embedded) {
    try {
      return await openServer(process.env[VARIABLE]);
    } catch (error) {
      if (!(error instanceof NoVectorServerError)) throw error;
      note(`${error.message}; set ${VARIABLE} to the URL of a server with pgvector.`);
    }
  }
  note("The embedded server loads fewer chunks; its results do not apply to a real server.");
  return openInProcess();
}

type Rates = ReadonlyMap<Way, number[]>;

/** Runs each way in turn on an empty table, in reverse order in every second round. */
async function measure(
  place: Place,
  chosen: readonly Way[],
  count: number,
  { quick, rounds = quick ? 2 : 3, note }: BenchOptions,
): Promise<Rates> {
  const corpus = createCorpus({ tenants: 1, perTenant: count });
  const [tenant = ""] = corpus.tenants;
  const chunks = [...corpus.chunksOf(tenant)];
  const site = await openSite(await place.connect(), tenant);
  note(`${count} chunks for each`);
  const rates: Rates = new Map(chosen.map((way) => [way, []]));
  // Warm up connections and code with a load that is not timed.
  for (const way of chosen) await load(site, way, chunks.slice(0, 500));
  for (let round = 1; round <= rounds; round++) {
    for (const way of round % 2 === 0 ? chosen.toReversed() : chosen) {
      const part = chunks.slice(0, Math.round(count * way.share));
      rates.get(way)?.push((part.length / (await load(site, way, part))) * 1000);
    }
    note(`round ${round} of ${rounds}`);
  }
  return rates;
}

/** Loads the chunks and returns the time in milliseconds. */
async function load(site: Site, way: Way, chunks: readonly Made[]): Promise<number> {
  await clear(site);
  await way.prepare?.(site);
  const begun = performance.now();
  await way.run(site, chunks);
  const took = performance.now() - begun;
  await prove(site, way, chunks);
  return took;
}

/** Checks that all chunks are stored, and that a search with the embedding of one chunk finds that chunk. */
async function prove({ store, tenant }: Site, { name }: Way, chunks: readonly Made[]): Promise<void> {
  const { chunks: kept } = await store.stats(tenant);
  const wanted = chunks[Math.floor(chunks.length / 2)];
  const [hit] = await store.search(tenant, { vector: wanted?.embedding, limit: 1 });
  const found = hit?.documentId === wanted?.documentId && hit?.ordinal === wanted?.ordinal;
  if (kept !== chunks.length || !found || hit?.content !== wanted?.content) {
    throw new Error(
      `${name} stored ${kept} of ${chunks.length} chunks; a search for one of them ${found ? "finds" : "does not find"} it`,
    );
  }
}

/** Prints the results and returns their verdicts. */
function report(kind: Place["kind"], rates: Rates, { json, print }: BenchOptions): readonly Verdict[] {
  const medians = new Map([...rates].map(([{ name }, all]) => [name, summarise(all).median]));
  const prefix = kind === "embedded" ? "embedded/" : "";
  if (json) {
    for (const [name, value] of medians) {
      const figure = { bench: "ingest", case: name, metric: `${prefix}chunks_per_s` };
      print(JSON.stringify({ ...figure, value: Math.round(value), unit: "per_s" }));
    }
  } else {
    const rows = [...rates].map(([{ name, about }, all]) => {
      const { min, median, max } = summarise(all);
      return [name, about, ...[median, min, max].map((rate) => rate.toFixed(0))];
    });
    for (const line of columns([["", "", "chunks/s", "least", "most"], ...rows])) print(line);
  }
  return BOUNDS.flatMap(({ way, other, least }) => {
    const [one, two] = [medians.get(way), medians.get(other)];
    if (one === undefined || two === undefined) return [];
    const shown = `${way}: ${(one / two).toFixed(2)} x ${other}`;
    // No bounds apply to the embedded server, because its costs differ from those of a real server.
    if (kind === "embedded") return [unbounded(shown)];
    return [judged(one / two >= least, `${shown}, bound at least ${least}`)];
  });
}
