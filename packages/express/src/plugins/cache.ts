import type { Cache } from "@svc/cache";
import type { Table } from "@svc/config";
import { number, secret, string, withDefault } from "@svc/options";
import { namedAsConfigured } from "./named-as-configured.ts";
import type { PluginContext, PluginParts } from "./plugin.ts";

/** `[plugin.cache]`. */
export interface CacheSettings {
  /** `redis://...`; usually a reference such as `${REDIS_URL}`. Required. */
  readonly url: string;
  /** The prefix of all keys. Default: empty. */
  readonly keyPrefix: string;
  /** Time limit for one command, in seconds. Default: 1. */
  readonly commandTimeoutSeconds: number;
}

export const cacheTable: Table<CacheSettings> = {
  keys: {
    url: {
      key: "url",
      kind: secret(string({ pattern: /^rediss?:\/\//, expects: "a URL redis://..." })),
    },
    keyPrefix: {
      key: "key_prefix",
      kind: withDefault(
        string({
          allowEmpty: true,
          pattern: /^[^{}\s]{0,64}$/,
          expects: "at most 64 characters without braces and white space",
        }),
        "",
      ),
    },
    commandTimeoutSeconds: { key: "command_timeout", kind: withDefault(number({ min: 0.001, max: 60 }), 1) },
  },
};

/** Returns the connection to Redis and its readiness check. */
export async function cachePlugin(
  settings: CacheSettings,
  { logger, profile }: PluginContext,
): Promise<PluginParts & { readonly cache: Cache }> {
  const { createCache } = await import("@svc/cache");
  const cache = namedAsConfigured({ plugin: "cache", table: cacheTable, profile }, () =>
    createCache({
      url: settings.url,
      keyPrefix: settings.keyPrefix === "" ? undefined : settings.keyPrefix,
      commandTimeoutMs: settings.commandTimeoutSeconds * 1000,
      logger,
    }),
  );
  return { cache, checks: [cache.readiness()], onStop: ["close", () => cache.stop()] };
}
