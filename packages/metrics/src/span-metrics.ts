import { defineOptions, kinds as k, namesOf, optionError, type OptionsOf } from "@svc/options";
import type { Registry } from "prom-client";
import Counter from "prom-client/lib/counter.js";
import PromRegistry from "prom-client/lib/registry.js";
import { addMetrics } from "./add-metrics.ts";

/** Numbers of spans since the start of the process, as `counts()` of `@svc/telemetry` returns them. */
interface SpanCounts {
  readonly exported: number;
  readonly dropped: number;
  readonly failedBatches: number;
}

const spanMetricsOptions = defineOptions("spanMetrics()", {
  /** The prom-client registry to add to, for example the one from `metrics()`. Required. */
  registry: { kind: k.objectWith<Registry>("a prom-client registry", "registerMetric", "metrics") },
  /** Called at each scrape for the counts. If it throws, they are 0. Required. */
  counts: { kind: k.func<() => SpanCounts>() },
});

/** Options of `spanMetrics()`. */
export type SpanMetricsOptions = OptionsOf<typeof spanMetricsOptions>;

/**
 * Adds counters of exported and dropped spans and of failed batches, for an alert when traces get lost.
 *
 * @throws ConfigurationError for invalid options, or a registry that already has metrics with these names
 */
export function spanMetrics(options: SpanMetricsOptions): void {
  const { registry, counts } = spanMetricsOptions.resolve(options);
  const own = new PromRegistry();
  const add = (name: string, help: string, of: keyof SpanCounts): void => {
    new Counter({
      name,
      help,
      registers: [own],
      collect() {
        this.reset();
        try {
          this.inc(counts()[of]);
        } catch {
          // Keep 0: an error would fail the whole scrape.
        }
      },
    });
  };
  add("telemetry_spans_exported_total", "Spans that were exported.", "exported");
  add("telemetry_spans_dropped_total", "Spans that were lost before or during their export.", "dropped");
  add("telemetry_batches_failed_total", "Batches of spans whose export failed.", "failedBatches");
  const taken = addMetrics(own, registry);
  if (taken.length === 0) return;
  const names = namesOf(options, spanMetricsOptions.subject);
  throw optionError(names, "registry", `already has ${taken.join(", ")}; use a separate registry`);
}
