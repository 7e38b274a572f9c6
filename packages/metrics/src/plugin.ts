import { boolean, defineOptions, type Kind, optional, withDefault } from "@svc/options";
import { definePlugin } from "@svc/plugin";

export type { MetricsMiddleware } from "./metrics.ts";

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

/** `[plugin.metrics]`: counts requests and answers scrapes, as `service.metrics`. */
export const metricsPlugin = definePlugin({
  name: "metrics",
  options: defineOptions("[plugin.metrics]", {
    /** The path of the metrics. Default: /metrics. */
    path: { key: "path", kind: withDefault(freePath, "/metrics") },
    /** Upper bounds of the duration histogram, in seconds. Default: those of prom-client. */
    buckets: { key: "buckets", kind: optional(ascending) },
    /** Whether process, garbage collections and event loop are measured. Default: true. */
    defaultMetrics: { key: "default_metrics", kind: withDefault(boolean(), true) },
  }),
  async start({ options: { path, buckets, defaultMetrics }, service: { name, version } }) {
    const { metrics: createMetrics } = await import("./metrics.ts");
    const metrics = createMetrics({
      service: name,
      version,
      buckets,
      defaultMetrics,
      eventLoopDelay: defaultMetrics,
    });
    return {
      parts: { metrics },
      edge: metrics,
      routes: [{ path, handler: metrics.handler }],
      stop: ["close", () => metrics.stop()],
      info: { path },
    };
  },
});
