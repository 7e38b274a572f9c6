import { cachePlugin } from "@svc/cache/plugin";
import { databasePlugin } from "@svc/database/plugin";
import { eventsPlugin } from "@svc/events/plugin";
import { observabilityPlugin } from "@svc/log/plugin";
import { metricsPlugin } from "@svc/metrics/plugin";
import { tenancyPlugin } from "@svc/tenancy/plugin";
import { authPlugin } from "./auth.ts";

import { queuePlugin } from "./queue.ts";

/**
 * The built-in plugins, in the order in which a request passes them. Each module holds only the options; its package is loaded
 * when the plugin starts.
 */
export const builtInPlugins = [
  observabilityPlugin,
  metricsPlugin,
  databasePlugin,
  queuePlugin,
  eventsPlugin,
  cachePlugin,
  authPlugin,
  tenancyPlugin,
] as const;

/** The plugins that start when the file has no `[plugins] enabled`. */
export const defaultPlugins = ["observability", "metrics"] as const;
