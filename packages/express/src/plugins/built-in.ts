import type { Cache } from "@svc/cache";
import type { Middleware } from "@svc/context";
import { cachePlugin } from "@svc/cache/plugin";
import { databasePlugin } from "@svc/database/plugin";
import { eventsPlugin } from "@svc/events/plugin";
import { gatewayPlugin } from "@svc/gateway/plugin";
import { httpPlugin } from "@svc/http-client/plugin";
import { queueOptions, queuePlugin, type QueueTools } from "@svc/job-table/plugin";
import { authOptions, authPlugin } from "@svc/jwt-auth/plugin";
import { observabilityPlugin } from "@svc/log/plugin";
import type { MetricsMiddleware } from "@svc/metrics/plugin";
import { signInPlugin } from "@svc/oidc-login/plugin";
import { openapiPlugin } from "@svc/openapi/plugin";
import { rateLimitPlugin } from "@svc/rate-limit/plugin";
import { definePlugin, joinPlugins } from "@svc/plugin";
import { rollupsPlugin, type RollupTools } from "@svc/rollups/plugin";
import { ragPlugin, type RagTools } from "@svc/search-store/plugin";
import { schedulesPlugin } from "@svc/scheduler/plugin";
import { telemetryPlugin, type TelemetryTools } from "@svc/telemetry/plugin";
import { tenancyPlugin } from "@svc/tenancy/plugin";
import { issuingPlugin, type TokenStores } from "@svc/token-issuer/plugin";
import { metricsWithRegistry } from "./own-registry.ts";

async function adminsOnly(): Promise<Middleware> {
  const { requireRoles } = await import("@svc/jwt-auth");
  return requireRoles("admin");
}

/**
 * Gives the plugin `telemetry` the role check and the span metrics, because its package must not depend on the packages
 * that contain them.
 */
const telemetryTools = definePlugin({
  name: "telemetry",
  start({ part }) {
    const metrics = part<MetricsMiddleware>("metrics");
    const tools: TelemetryTools = {
      adminsOnly,
      async countSpans(counts) {
        if (metrics === undefined) return;
        const { spanMetrics } = await import("@svc/metrics");
        spanMetrics({ registry: metrics.registry, counts });
      },
    };
    return { offers: { telemetryTools: tools } };
  },
});

/**
 * Gives the plugin `queue` the role check and the job metrics, because its package must not depend on the packages that
 * contain them.
 */
const queueTools = definePlugin({
  name: "queue",
  // Declare the options of `queuePlugin` here, so that they are listed before those of `schedulesPlugin`, which stops first.
  options: queueOptions,
  start({ part }) {
    const metrics = part<MetricsMiddleware>("metrics");
    const tools: QueueTools = {
      adminsOnly,
      async jobMetrics(tasks, running) {
        if (metrics === undefined) return undefined;
        const { jobMetrics } = await import("@svc/metrics");
        return jobMetrics({ registry: metrics.registry, tasks, running });
      },
    };
    return { offers: { queueTools: tools } };
  },
});

/** Gives the plugin `rollups` its metric, because its package must not depend on the package that contains it. */
const rollupTools = definePlugin({
  name: "rollups",
  start({ part }) {
    const metrics = part<MetricsMiddleware>("metrics");
    const tools: RollupTools = {
      async driftMetric(drift) {
        if (metrics === undefined) return;
        const { rollupMetrics } = await import("@svc/metrics");
        rollupMetrics({ registry: metrics.registry, drift });
      },
    };
    return { offers: { rollupTools: tools } };
  },
});

/** Gives the plugin `rag` its metrics, because its package must not depend on the package that contains them. */
const ragTools = definePlugin({
  name: "rag",
  start({ part }) {
    const metrics = part<MetricsMiddleware>("metrics");
    const tools: RagTools = {
      async searchMetrics() {
        if (metrics === undefined) return undefined;
        const { searchMetrics } = await import("@svc/metrics");
        return searchMetrics({ registry: metrics.registry });
      },
    };
    return { offers: { ragTools: tools } };
  },
});

/** Provides the verifier and the issuer with stores for revoked tokens: one in the cache, one in this process. */
const tokenStores = definePlugin({
  name: "auth",
  // Declare the options of `authPlugin` here, so that they are listed before those of `issuingPlugin`, which starts first.
  options: authOptions,
  start({ part, logger }) {
    const cache = part<Cache>("cache");
    const stores: TokenStores = {
      shared:
        cache &&
        (async () => {
          const { createRedisTokenStore } = await import("@svc/token-store/redis");
          return createRedisTokenStore({ redis: cache.redis });
        }),
      async inProcess() {
        const { createMemoryTokenStore } = await import("@svc/token-store");
        return createMemoryTokenStore({ logger });
      },
    };
    return { offers: { tokenStores: stores } };
  },
});

/**
 * The built-in plugins, in the order in which they handle a request. Each module contains only options; its package is
 * loaded when the plugin starts.
 */
export const builtInPlugins = [
  observabilityPlugin,
  joinPlugins("telemetry", telemetryTools, telemetryPlugin),
  metricsWithRegistry,
  databasePlugin,
  joinPlugins("queue", queueTools, schedulesPlugin, queuePlugin),
  eventsPlugin,
  cachePlugin,
  httpPlugin,
  joinPlugins("auth", tokenStores, issuingPlugin, authPlugin, signInPlugin),
  tenancyPlugin,
  // The rate limit follows identity, because it counts by caller and tenant.
  rateLimitPlugin,
  openapiPlugin,
  joinPlugins("rollups", rollupTools, rollupsPlugin),
  joinPlugins("rag", ragTools, ragPlugin),
  // The gateway comes last, so that the other plugins have handled the requests that it passes on.
  gatewayPlugin,
] as const;

/** The plugins that start if the file has no `[plugins] enabled`. */
export const defaultPlugins = ["observability", "metrics", "openapi"] as const;
