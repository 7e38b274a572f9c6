import { defineOptions, kinds as k, namesOf, optionError, type OptionsOf } from "@svc/options";
import type { Registry } from "prom-client";
import Counter from "prom-client/lib/counter.js";
import Gauge from "prom-client/lib/gauge.js";
import Histogram from "prom-client/lib/histogram.js";
import PromRegistry from "prom-client/lib/registry.js";
import { addMetrics } from "./add-metrics.ts";

/** The events that `searchMetrics()` counts: those of `bindSearch()` and `createMaintenance()` of `@svc/search-store`. */
export type CountedSearchEvent =
  | {
      readonly type: "searched";
      readonly kind: "vector" | "text" | "hybrid";
      readonly hits: number;
      readonly durationMs: number;
    }
  | { readonly type: "ingested"; readonly embedded: number; readonly reused: number }
  | { readonly type: "measured"; readonly recall: number };

const searchMetricsOptions = defineOptions("searchMetrics()", {
  /** The prom-client registry to add to, for example the one from `metrics()`. Required. */
  registry: { kind: k.objectWith<Registry>("a prom-client registry", "registerMetric", "metrics") },
});

/** Options of `searchMetrics()`. */
export type SearchMetricsOptions = OptionsOf<typeof searchMetricsOptions>;

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30];
const HITS = [0, 1, 2, 5, 10, 20, 50, 100];

/**
 * Returns a listener that counts searches and ingests: `bindSearch({ onEvent: searchMetrics({ registry }) })`. The metrics
 * have no label for the tenant.
 *
 * @throws ConfigurationError for invalid options, or a registry that already has metrics with these names
 */
export function searchMetrics(options: SearchMetricsOptions): (event: CountedSearchEvent) => void {
  const { registry } = searchMetricsOptions.resolve(options);
  const own = new PromRegistry();
  let measured: number | undefined;
  const registers = [own];
  const seconds = new Histogram({
    name: "svc_search_seconds",
    help: "Duration of searches, with their embedding, in seconds, by kind.",
    labelNames: ["kind"],
    buckets: SECONDS,
    registers,
  });
  const hits = new Histogram({
    name: "svc_search_hits",
    help: "Hits of each search.",
    buckets: HITS,
    registers,
  });
  const chunks = new Counter({
    name: "svc_ingest_chunks_total",
    help: "Ingested texts that were embedded, and chunks that reused an embedding.",
    labelNames: ["source"],
    registers,
  });
  new Gauge({
    name: "svc_search_recall",
    help: "Share of the true neighbours that a search found, as last measured in this process.",
    registers,
    collect() {
      // Without a measurement, a 0 would be wrong.
      if (measured === undefined) this.remove();
      else this.set(measured);
    },
  });
  const taken = addMetrics(own, registry);
  if (taken.length > 0) {
    const message = `already has ${taken.join(", ")}; use a separate registry for each search`;
    throw optionError(namesOf(options, searchMetricsOptions.subject), "registry", message);
  }

  return function countSearchEvent(event) {
    if (event.type === "searched") {
      seconds.observe({ kind: event.kind }, event.durationMs / 1000);
      hits.observe(event.hits);
    } else if (event.type === "ingested") {
      chunks.inc({ source: "embedded" }, event.embedded);
      chunks.inc({ source: "reused" }, event.reused);
    } else measured = event.recall;
  };
}
