import type { MetricsMiddleware } from "@svc/metrics";
import { metricsPlugin } from "@svc/metrics/plugin";
import { defineOptions, kinds as k } from "@svc/options";
import { definePlugin } from "@svc/plugin";

/** The options in code for `[plugin.metrics]`. */
export interface MetricsCode {
  /** The prom-client registry to add to, in the plain text format. Default: a new one. */
  readonly registry?: MetricsMiddleware["registry"] | undefined;
}

/** The plugin `metrics`, with a registry that code can set. */
export const metricsWithRegistry = definePlugin({
  name: metricsPlugin.name,
  options: defineOptions("[plugin.metrics]", {
    ...metricsPlugin.options.keys,
    /** The prom-client registry to add to, in the plain text format. Default: a new one. */
    registry: {
      kind: k.optional(
        k.objectWith<MetricsMiddleware["registry"]>(
          "a prom-client Registry",
          "getSingleMetric",
          "getMetricsAsJSON",
          "metrics",
        ),
      ),
    },
  }),
  // The plugin passes all its options to metrics(), including the registry.
  start: (context) => metricsPlugin.start(context),
});
