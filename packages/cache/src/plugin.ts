import { defineOptions, fileOptions, kinds as k } from "@svc/options";
import { definePlugin } from "@svc/plugin";
import { cacheOptions } from "./options.ts";

export type { Cache } from "./cache.ts";

/** `[plugin.cache]`: the service's connection to Redis, as `service.cache`. */
export const cachePlugin = definePlugin({
  name: "cache",
  options: defineOptions("[plugin.cache]", {
    /** `redis://...`; usually a reference such as `${REDIS_URL}`. Required. */
    url: {
      key: "url",
      kind: k.secret(
        k.string({ pattern: /^rediss?:\/\//, expects: "a URL that begins with redis:// or rediss://" }),
      ),
    },
    ...fileOptions(cacheOptions),
  }),
  async start({ options, logger }) {
    const { createCache } = await import("./cache.ts");
    const cache = createCache({ ...options, logger });
    return { parts: { cache }, checks: [cache.readiness()], stop: ["close", () => cache.stop()] };
  },
});
