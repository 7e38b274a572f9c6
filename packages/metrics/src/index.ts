export { metrics, type MetricsMiddleware } from "./metrics.ts";
export type { MetricsOptions } from "./options.ts";
