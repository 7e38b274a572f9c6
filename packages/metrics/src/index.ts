export { type JobEvent, jobMetrics, type JobMetricsOptions } from "./job-metrics.ts";
export { metrics, type MetricsMiddleware } from "./metrics.ts";
export { rollupMetrics, type RollupMetricsOptions } from "./rollup-metrics.ts";
export { type CountedSearchEvent, searchMetrics, type SearchMetricsOptions } from "./search-metrics.ts";
export { spanMetrics, type SpanMetricsOptions } from "./span-metrics.ts";
export type { MetricsOptions } from "./options.ts";
