export { createService } from "./create-service.ts";
export type { AuthCode } from "./plugins/auth-options.ts";
export type { EventsSettings } from "@svc/events/plugin";
export type { JobDatabase, ServiceRole } from "./plugins/job-code.ts";
export type {
  QueueCode,
  ServiceJobHandler,
  ServiceJobs,
  ServiceSubscriber,
  ServiceSubscribers,
} from "./service-jobs.ts";
export type { QueueSettings } from "./plugins/queue-table.ts";
export { serve, type Serving } from "./serve.ts";
export type { ServeOptions } from "./serve-options.ts";
export type { OwnPlugins, PluginSettings, Service } from "./service.ts";
export type { ServiceLogger } from "./service-logger.ts";
export type { ServiceOptions } from "./service-options.ts";
export { configurationExitCode, startService } from "./start-service.ts";
export type { StopHook, StopPhase } from "@svc/plugin";
export { tune, type TunedClasses } from "./tune.ts";
