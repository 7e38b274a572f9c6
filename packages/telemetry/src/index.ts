export type { ExportCounts } from "./readiness.ts";
export type { TelemetryOptions } from "./options.ts";
export type { RecordedSpan } from "./recorded-span.ts";
export type { TracedPool } from "./sql/trace-queries.ts";
export { telemetry, type TelemetryMiddleware } from "./telemetry.ts";
