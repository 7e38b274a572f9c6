import type { Tables } from "@svc/config";
import { authTable, type AuthSettings } from "./auth-table.ts";
import { cacheTable, type CacheSettings } from "./cache.ts";
import { databaseTable, type DatabaseSettings } from "./database.ts";
import { type EventsSettings, eventsTable } from "./events-table.ts";
import { metricsTable, type MetricsSettings } from "./metrics.ts";
import { queueTable, type QueueSettings } from "./queue.ts";
import { observabilityTable, type ObservabilitySettings } from "./observability.ts";
import { tenancyTable, type TenancySettings } from "./tenancy.ts";

/** The settings of the built plugins, by name; other names are refused (CFG-8). */
export type PluginSettings = {
  readonly observability: ObservabilitySettings;
  readonly metrics: MetricsSettings;
  readonly database: DatabaseSettings;
  readonly queue: QueueSettings;
  readonly events: EventsSettings;
  readonly cache: CacheSettings;
  readonly auth: AuthSettings;
  readonly tenancy: TenancySettings;
};

export const pluginTables: Tables<PluginSettings> = {
  observability: observabilityTable,
  metrics: metricsTable,
  database: databaseTable,
  queue: queueTable,
  events: eventsTable,
  cache: cacheTable,
  auth: authTable,
  tenancy: tenancyTable,
};

/** The plugins that start when the file has no `[plugins] enabled`. */
export const defaultPlugins: readonly (keyof PluginSettings)[] = ["observability", "metrics"];
