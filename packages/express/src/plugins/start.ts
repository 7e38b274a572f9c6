import type { Config } from "@svc/config";
import type { Middleware, ReadinessCheck } from "@svc/context";
import type { Database } from "@svc/database";
import type { MetricsMiddleware } from "@svc/metrics";
import type { FrameworkRoute } from "../framework-routes.ts";
import type { ServiceLogger } from "../service.ts";
import type { StopHook, StopPhase } from "../stop.ts";
import type { PluginSettings } from "./built.ts";
import { databasePlugin } from "./database.ts";
import { metricsPlugin } from "./metrics.ts";
import { observability } from "./observability.ts";
import type { PluginContext, PluginParts } from "./plugin.ts";

/** What the enabled plugins add up to. */
export interface StartedPlugins {
  readonly edge: readonly (Middleware | undefined)[];
  readonly routes: readonly FrameworkRoute[];
  readonly checks: readonly ReadinessCheck[];
  readonly info: readonly { readonly name: string }[];
  readonly stopHooks: readonly (readonly [StopPhase, StopHook])[];
  readonly metrics: MetricsMiddleware | undefined;
  readonly db: Database | undefined;
}

/** Puts the enabled plugins to work, in the order in which a request should meet them. */
export async function startPlugins(
  { service, plugin }: Config<PluginSettings, Record<never, object>>,
  logger: ServiceLogger,
): Promise<StartedPlugins> {
  const context: PluginContext = { service: service.name, version: service.version, logger };
  const lines = plugin.observability && observability(plugin.observability, logger);
  const metrics = plugin.metrics && (await metricsPlugin(plugin.metrics, context));
  const database = plugin.database && (await databasePlugin(plugin.database, context));
  const started: readonly (readonly [name: string, parts: PluginParts | undefined])[] = [
    ["observability", lines],
    ["metrics", metrics],
    ["database", database],
  ];
  const parts = started.flatMap(([name, each]) => (each === undefined ? [] : [{ name, ...each }]));
  return {
    edge: parts.map((each) => each.edge),
    routes: parts.flatMap((each) => each.routes ?? []),
    checks: parts.flatMap((each) => each.checks ?? []),
    info: parts.map(({ name, info }) => ({ ...info, name })),
    stopHooks: parts.flatMap((each) => (each.onStop === undefined ? [] : [each.onStop])),
    metrics: metrics?.metrics,
    db: database?.db,
  };
}
