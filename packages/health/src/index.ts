export { health, type HealthHandlers, type HealthMiddleware } from "./health.ts";
export type { EnvironmentName as Env } from "@svc/options";
export type { HealthOptions, PluginInfo, ReadinessChange } from "./options.ts";
export type { CheckReport, CheckStatus, ReadinessReport, ReadinessStatus, ServiceState } from "./report.ts";
