import { defineOptions, fileOptions, kinds as k } from "@svc/options";
import { definePlugin } from "@svc/plugin";
import { metricsOptions } from "./options.ts";

export type { MetricsMiddleware } from "./metrics.ts";

const taken: readonly string[] = ["/health", "/ready", "/info"];

const freePath: k.Kind<string> = {
  expects: `a path such as "/metrics", other than ${taken.join(", ")}`,
  accepts: (value): value is string =>
    typeof value === "string" && /^(?:\/(?!\.{1,2}(?:\/|$))[\w.-]+)+$/.test(value) && !taken.includes(value),
};

/** `[plugin.metrics]`: counts requests and serves scrapes, as `service.metrics`. */
export const metricsPlugin = definePlugin({
  name: "metrics",
  options: defineOptions("[plugin.metrics]", {
    /** The path of the metrics. Default: /metrics. */
    path: { key: "path", kind: k.withDefault(freePath, "/metrics") },
    ...fileOptions(metricsOptions),
  }),
  async start({ options: { path, ...options }, service: { name, version } }) {
    const { metrics: createMetrics } = await import("./metrics.ts");
    const eventLoopDelay = options.defaultMetrics;
    const metrics = createMetrics({ ...options, eventLoopDelay, service: name, version });
    return {
      parts: { metrics },
      edge: metrics,
      routes: [{ path, handler: metrics.handler, calledByAddress: true }],
      stop: ["close", () => metrics.stop()],
      info: { path },
    };
  },
});
