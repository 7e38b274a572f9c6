import type { Metric, Registry } from "prom-client";

/**
 * Adds all metrics of one registry to another. Adds none if both have a metric with the same name.
 *
 * @returns the names that both registries have
 */
export function addMetrics(added: Registry, to: Registry): readonly string[] {
  const names = added.getMetricsAsArray().map(({ name }) => name);
  const taken = names.filter((name) => to.getSingleMetric(name) !== undefined);
  if (taken.length > 0) return taken;
  for (const name of names) to.registerMetric(added.getSingleMetric(name) as Metric);
  return [];
}
