export { createService } from "./create-service.ts";
export type { AuthCode } from "./plugins/auth.ts";
export type { PluginSettings } from "./plugins/built.ts";
export type { DatabaseSettings } from "./plugins/database.ts";
export type { EventsSettings } from "./plugins/events-table.ts";
export type {
  QueueCode,
  ServiceRole,
  ServiceJobHandler,
  ServiceJobs,
  ServiceSubscriber,
  ServiceSubscribers,
} from "./plugins/job-code.ts";
export type { MetricsSettings } from "./plugins/metrics.ts";
export type { ObservabilitySettings } from "./plugins/observability.ts";
export type { ServiceLogger } from "./plugins/plugin.ts";
export type { JobDatabase, QueueSettings } from "./plugins/queue.ts";
export { serve, type Serving } from "./serve.ts";
export type { ServeOptions } from "./serve-options.ts";
export type { Service } from "./service.ts";
export type { ServiceOptions } from "./service-options.ts";
export { configurationExitCode, startService } from "./start-service.ts";
export type { StopHook, StopPhase } from "./stop.ts";
export { tune, type TunedClasses } from "./tune.ts";
