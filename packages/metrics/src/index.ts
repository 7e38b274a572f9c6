export { type JobEvent, jobMetrics, type JobMetricsOptions } from "./job-metrics.ts";
export { metrics, type MetricsMiddleware } from "./metrics.ts";
export { spanMetrics, type SpanMetricsOptions } from "./span-metrics.ts";
export type { MetricsOptions } from "./options.ts";
