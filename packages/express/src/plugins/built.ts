import type { Tables } from "@svc/config";
import { databaseTable, type DatabaseSettings } from "./database.ts";
import { metricsTable, type MetricsSettings } from "./metrics.ts";
import { observabilityTable, type ObservabilitySettings } from "./observability.ts";

/** The settings of the plugins that are built, by name; every other name is refused (CFG-8). */
export type PluginSettings = {
  readonly observability: ObservabilitySettings;
  readonly metrics: MetricsSettings;
  readonly database: DatabaseSettings;
};

export const pluginTables: Tables<PluginSettings> = {
  observability: observabilityTable,
  metrics: metricsTable,
  database: databaseTable,
};

/** What starts when the file does not say. */
export const defaultPlugins: readonly (keyof PluginSettings)[] = ["observability", "metrics"];

/** What is part of the reduced profile, which has no plugins to choose from. */
export const reducedPlugins: readonly (keyof PluginSettings)[] = ["observability", "metrics"];
