import type { Table } from "@svc/config";
import type { MetricsMiddleware } from "@svc/metrics";
import { boolean, listOf, number, optional, string, withDefault } from "@svc/options";
import type { PluginContext, PluginParts } from "./plugin.ts";

/** `[plugin.metrics]`. */
export interface MetricsSettings {
  /** Where they are served. Default: /metrics. */
  readonly path: string;
  /** Upper bounds of the duration histogram, in seconds. Default: those of prom-client. */
  readonly buckets: readonly number[] | undefined;
  /** Whether process, garbage collection and event loop are measured too. Default: true. */
  readonly defaultMetrics: boolean;
}

export const metricsTable: Table<MetricsSettings> = {
  keys: {
    path: {
      key: "path",
      kind: withDefault(string({ pattern: /^\/[\w./-]+$/, expects: "a path" }), "/metrics"),
    },
    buckets: { key: "buckets", kind: optional(listOf(number({ min: 0 }))) },
    defaultMetrics: { key: "default_metrics", kind: withDefault(boolean(), true) },
  },
};

/** The middleware that counts and the route that shows. */
export async function metricsPlugin(
  settings: MetricsSettings,
  { service, version }: PluginContext,
): Promise<PluginParts & { readonly metrics: MetricsMiddleware }> {
  const { metrics } = await import("@svc/metrics");
  const middleware = metrics({
    service,
    version,
    buckets: settings.buckets,
    defaultMetrics: settings.defaultMetrics,
    eventLoopDelay: settings.defaultMetrics,
  });
  return {
    metrics: middleware,
    edge: middleware,
    routes: [{ path: settings.path, handler: middleware.handler }],
    onStop: ["close", () => middleware.stop()],
    info: { path: settings.path },
  };
}
