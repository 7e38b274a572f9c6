import type { Middleware } from "@svc/context";
import { defineOptions, fileOptions, kinds as k, optionError, namesOf, takeOptions } from "@svc/options";
import { definePlugin } from "@svc/plugin";
import { rateLimitOptions, type RouteLimitOptions } from "./options.ts";
import type { RedisLike } from "./redis-store.ts";

export type { RouteLimitOptions } from "./options.ts";

/** Returns a limit for single routes, which replaces the service's limit for these routes. */
export type RouteLimit = (options?: RouteLimitOptions) => Middleware;

/** `[plugin.rate_limit]`: limits the requests of each caller. `service.rateLimit()` creates limits for single routes. */
export const rateLimitPlugin = definePlugin({
  name: "rate_limit",
  uses: ["cache"],
  options: defineOptions("[plugin.rate_limit]", {
    ...fileOptions(rateLimitOptions),
    /**
     * The store that counts requests: `cache` for the Redis of the plugin `cache`, `memory` for the memory of each process.
     * Default: `cache` if that plugin is enabled, else `memory`.
     */
    store: { key: "store", kind: k.optional(k.oneOf("cache", "memory")) },
  }),
  async start({ options, service, logger, part, isEnabled }) {
    const { store = isEnabled("cache") ? "cache" : "memory" } = options;
    if (store === "cache" && !isEnabled("cache")) {
      const message = 'is "cache", but the plugin cache is not enabled; enable it, or use "memory"';
      throw optionError(namesOf(options, "[plugin.rate_limit]"), "store", message);
    }
    const cache = store === "cache" ? part<{ readonly redis: RedisLike }>("cache") : undefined;
    // The cache is missing only if its options are invalid, which its own plugin reports.
    if (store === "cache" && cache === undefined) return {};
    if (store === "memory" && service.env === "prod") {
      logger.warn(
        {},
        "rate limits are counted in memory: with several replicas, each of them admits the whole limit; enable the plugin cache",
      );
    }
    const { rateLimit } = await import("./rate-limit.ts");
    const limit = rateLimit({
      ...takeOptions(options, ...passedOn),
      store: cache?.redis,
      service: service.name,
      logger,
    });
    const { limit: tokens, windowSeconds, burst = tokens } = options;
    const rateLimitPart: RouteLimit = limit.route;
    return {
      parts: { rateLimit: rateLimitPart },
      admission: limit,
      checks: [limit.readiness()],
      info: { limit: tokens, window: windowSeconds, burst, store },
    };
  },
});

const passedOn = ["limit", "windowSeconds", "burst", "failOpen", "exemptPaths", "commandTimeoutMs"] as const;
