import { defineOptions, inSeconds, number, secret, string, withDefault } from "@svc/options";
import { definePlugin } from "@svc/plugin";

export type { Cache } from "./cache.ts";

/** `[plugin.cache]`: the service's connection to Redis, as `service.cache`. */
export const cachePlugin = definePlugin({
  name: "cache",
  options: defineOptions("[plugin.cache]", {
    /** `redis://...`; usually a reference such as `${REDIS_URL}`. Required. */
    url: { key: "url", kind: secret(string({ pattern: /^rediss?:\/\//, expects: "a URL redis://..." })) },
    /** The prefix of all keys. Default: empty. */
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
    /** Time limit for one command. Default: 1 second. */
    commandTimeoutMs: {
      key: "command_timeout",
      kind: withDefault(number({ min: 1, max: 60_000 }), 1000),
      inFile: inSeconds(number({ min: 0.001, max: 60 })),
    },
  }),
  async start({ options, logger }) {
    const { createCache } = await import("./cache.ts");
    const cache = createCache({ ...options, logger });
    return { parts: { cache }, checks: [cache.readiness()], stop: ["close", () => cache.stop()] };
  },
});
