import type { Table } from "@svc/config";
import type { MetricsMiddleware } from "@svc/metrics";
import { boolean, type Kind, optional, withDefault } from "@svc/options";
import type { PluginContext, PluginParts } from "./plugin.ts";

/** `[plugin.metrics]`. */
export interface MetricsSettings {
  /** The path of the metrics. Default: /metrics. */
  readonly path: string;
  /** Upper bounds of the duration histogram, in seconds. Default: those of prom-client. */
  readonly buckets: readonly number[] | undefined;
  /** Whether process, garbage collections and event loop are measured. Default: true. */
  readonly defaultMetrics: boolean;
}

const taken: readonly string[] = ["/health", "/ready", "/info"];

const freePath: Kind<string> = {
  expects: `a path such as "/metrics", and none of ${taken.join(", ")}`,
  accepts: (value): value is string =>
    typeof value === "string" && /^(?:\/(?!\.{1,2}(?:\/|$))[\w.-]+)+$/.test(value) && !taken.includes(value),
};

// The same rule as in metrics(); checked here, a fault is listed with the other faults of the file.
const ascending: Kind<readonly number[]> = {
  expects: "a list of 1 to 50 numbers above 0, in seconds, each larger than the one before",
  accepts: (value): value is readonly number[] =>
    Array.isArray(value) &&
    value.length >= 1 &&
    value.length <= 50 &&
    value.every((each, index) => Number.isFinite(each) && each > (index === 0 ? 0 : value[index - 1])),
};

export const metricsTable: Table<MetricsSettings> = {
  keys: {
    path: { key: "path", kind: withDefault(freePath, "/metrics") },
    buckets: { key: "buckets", kind: optional(ascending) },
    defaultMetrics: { key: "default_metrics", kind: withDefault(boolean(), true) },
  },
};

/** Returns the middleware that counts requests and the route of the metrics. */
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
