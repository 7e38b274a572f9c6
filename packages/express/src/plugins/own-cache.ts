import type { Cache, CacheOptions } from "@svc/cache";
import { cachePlugin } from "@svc/cache/plugin";
import { defineOptions, kinds as k, optionError } from "@svc/options";
import { definePlugin } from "@svc/plugin";
import { hasMethods, isStopped, namesOfOwn, optionalSettings, refuseSettings } from "./own-connection.ts";

/** A client of the caller, with whether the service closes it when it stops. */
export interface OwnClient {
  /** The ioredis `Redis` or `Cluster` client. */
  readonly client: NonNullable<CacheOptions["client"]>;
  /** Whether the service closes the client in the stop phase `close`. Default: false. */
  readonly closeClient?: boolean | undefined;
}

/** A cache of the application: from `createCache()`, or an ioredis client. */
export type OwnCache = Cache | OwnClient["client"] | OwnClient;

const clientOptions = defineOptions("createService()", {
  client: { kind: k.secret(k.objectWith<OwnClient["client"]>("an ioredis client")) },
  closeClient: { kind: k.withDefault(k.boolean(), false) },
});

/** Replaces the plugin `cache` when the application provides a client or a cache. */
export const ownCachePlugin = definePlugin({
  name: "cache",
  options: defineOptions("[plugin.cache]", {
    ...optionalSettings(cachePlugin.options),
    /** A cache from `createCache()`, an ioredis client, or `{ client, closeClient }`. */
    cache: {
      kind: k.secret(
        k.objectWith<OwnCache>("a cache from createCache(), an ioredis client, or { client, closeClient }"),
      ),
    },
  }),
  async start({ options: { cache, ...settings }, logger, nameOf }) {
    if (isCache(cache)) {
      refuseSettings("cache", settings, nameOf, await isStopped(cache));
      return { parts: { cache }, checks: [cache.readiness()] };
    }
    refuseSettings("cache", { url: settings.url }, nameOf, false);
    const { createCache } = await import("@svc/cache");
    const options = Object.hasOwn(cache, "client") ? (cache as OwnClient) : undefined;
    const names = namesOfOwn("cache", options ? ["client", "closeClient"] : [], "client", nameOf);
    const given = options
      ? clientOptions.resolve(names({ ...options }))
      : { client: cache as OwnClient["client"] };
    const { client } = given;
    // In this state a client never connects again, so every command would fail.
    if (client.status === "end")
      throw optionError(names.own, "client", "has ended; pass a client that is open");
    const made = createCache(names({ ...settings, ...given, logger }));
    return { parts: { cache: made }, checks: [made.readiness()], stop: ["close", () => made.stop()] };
  },
});

function isCache(value: OwnCache): value is Cache {
  return hasMethods(value, "get", "set", "getOrSet", "readiness", "stop") && "redis" in value;
}
