import { defineOptions, kinds as k, namesOf, optionError, type OptionsOf } from "@svc/options";
import type { Registry } from "prom-client";
import Gauge from "prom-client/lib/gauge.js";
import PromRegistry from "prom-client/lib/registry.js";
import { addMetrics } from "./add-metrics.ts";

const rollupMetricsOptions = defineOptions("rollupMetrics()", {
  /** The prom-client registry to add to, for example the one from `metrics()`. Required. */
  registry: { kind: k.objectWith<Registry>("a prom-client registry", "registerMetric", "metrics") },
  /**
   * Called at each scrape for the number of buckets of each rollup that differed from their rows in the last verification. If
   * it rejects, the gauge is omitted; it must not take long. Required.
   */
  drift: { kind: k.func<() => Promise<Readonly<Record<string, number>>>>() },
});

/** Options of `rollupMetrics()`. */
export type RollupMetricsOptions = OptionsOf<typeof rollupMetricsOptions>;

/**
 * Adds a gauge of the buckets that differ from their rows, for an alert on wrong totals.
 *
 * @throws ConfigurationError for invalid options, or a registry that already has a metric with this name
 */
export function rollupMetrics(options: RollupMetricsOptions): void {
  const { registry, drift } = rollupMetricsOptions.resolve(options);
  const own = new PromRegistry();
  new Gauge({
    name: "svc_rollup_drift_buckets",
    help: "Buckets that differed from their rows in the last verification.",
    labelNames: ["rollup"],
    registers: [own],
    async collect() {
      this.reset();
      try {
        for (const [rollup, buckets] of Object.entries(await drift())) this.set({ rollup }, buckets);
      } catch {
        // Omit this gauge, so that the scrape still returns all other metrics.
      }
    },
  });
  const taken = addMetrics(own, registry);
  if (taken.length === 0) return;
  const names = namesOf(options, rollupMetricsOptions.subject);
  throw optionError(names, "registry", `already has ${taken.join(", ")}; use a separate registry`);
}
