import { defineOptions, fault, kinds as k, type OptionsOf } from "@svc/options";
import type { Registry } from "prom-client";

const ascendingBounds: k.Kind<readonly number[]> = {
  expects: "a list of 1 to 50 numbers above 0, in seconds, in ascending order",
  accepts: (value): value is readonly number[] =>
    Array.isArray(value) &&
    value.length >= 1 &&
    value.length <= 50 &&
    value.every((bound, index) => Number.isFinite(bound) && bound > (index === 0 ? 0 : value[index - 1])),
};

export const metricsOptions = defineOptions("metrics()", {
  /** Label `service` of `service_info` (MET-6). Default: `unknown`. */
  service: { kind: k.withDefault(k.string(), "unknown") },
  /** Label `version` of `service_info` (MET-6). Default: `unknown`. */
  version: { kind: k.withDefault(k.string(), "unknown") },
  /** The prom-client registry to add to, in the plain text format. Default: a new one, not the global one. */
  registry: {
    kind: k.optional(
      k.objectWith<Registry>("a prom-client Registry", "getSingleMetric", "getMetricsAsJSON", "metrics"),
    ),
  },
  /**
   * 1 to 50 upper bounds of the duration buckets, in seconds, in ascending order. Default: prom-client's, 0.005 to 10.
   */
  buckets: {
    key: "buckets",
    kind: k.withDefault(ascendingBounds, [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]),
  },
  /** Whether to add the process metrics: CPU, memory, file descriptors, heap and garbage collections. Default: true. */
  defaultMetrics: { key: "default_metrics", kind: k.withDefault(k.boolean(), true) },
  /** Whether to add the event-loop delay, `nodejs_eventloop_lag_*_seconds`. Default: true. */
  eventLoopDelay: { kind: k.withDefault(k.boolean(), true) },
  /**
   * Whether the buckets of `http_request_duration_seconds` have the trace of their last sampled request as an exemplar, in
   * OpenMetrics only. Needs `telemetry()` or `requestId()`, which set the trace of a request. Default: false.
   */
  exemplars: { key: "exemplars", kind: k.withDefault(k.boolean(), false) },
  /**
   * Maximum number of method and endpoint pairs with their own series; later pairs count under the endpoint `<other>`. Each
   * pair has `buckets + 3` series and one more per status. Default: 1,000.
   */
  maxSeries: { kind: k.withDefault(k.integer({ min: 1, max: 100_000 }), 1_000) },
}).withCheck(({ registry }) => {
  // A registry with the OpenMetrics format would send it even to clients that ask for plain text.
  if (!String(registry?.contentType).startsWith("application/openmetrics-text")) return [];
  const message = "must use the plain text format; clients that accept OpenMetrics still receive OpenMetrics";
  return [fault("registry", message)];
});

/** Options of `metrics()`. */
export type MetricsOptions = OptionsOf<typeof metricsOptions>;
