export { createService } from "./create-service.ts";
export type { EventsSettings } from "@svc/events/plugin";
export type {
  JobDatabase,
  ServiceJobHandler,
  ServiceJobs,
  ServiceRole,
  ServiceSubscriber,
  ServiceSubscribers,
  ServiceTaskHandlers,
} from "./service-jobs.ts";
export type { PageHelmet, PageHelmetOptions } from "./helmet-headers.ts";
export type { OwnLogger } from "./own-logger.ts";
export type { OwnCache, OwnClient } from "./plugins/own-cache.ts";
export type { OwnDatabase, OwnPool } from "./plugins/own-database.ts";
export type { MetricsCode } from "./plugins/own-registry.ts";
export { serve, type Serving } from "./serve.ts";
export type { ServeOptions } from "./serve-options.ts";
export type {
  DefinedTasks,
  OwnPlugins,
  PluginSettings,
  QueueSettings,
  Service,
  ServiceLogger,
} from "./service.ts";
export type { AuthCode, OpenApiCode, QueueCode, RagCode, ServiceOptions } from "./service-options.ts";
export { configurationExitCode, startService } from "./start-service.ts";
export type { RollupDraft, ServiceRollups } from "@svc/rollups/plugin";
export type { ErrorPage, ProblemDocument } from "./web/error-pages.ts";
export type { StopHook, StopPhase } from "@svc/plugin";
export { tune, type TunedClasses } from "./tune.ts";
