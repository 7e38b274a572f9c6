import { defineOptions, pickOptions } from "@svc/options";
import { definePlugin } from "@svc/plugin";
import { forwardedHost } from "./forwarded-host.ts";
import { tenancyOptions } from "./options.ts";

/** `[plugin.tenancy]`: finds the tenant of each request (TEN-23). */
export const tenancyPlugin = definePlugin({
  name: "tenancy",
  uses: ["auth", "metrics"],
  options: defineOptions(
    "[plugin.tenancy]",
    pickOptions(
      tenancyOptions,
      "sources",
      "baseDomain",
      "requireTenant",
      "trustUnscopedPrincipals",
      "pathPrefix",
      "reservedSubdomains",
      "exemptPaths",
    ),
  ),
  async start({ options, service: { env, behindProxies }, logger, isEnabled, systemPaths }) {
    const { tenancy } = await import("./tenancy.ts");
    const auth = isEnabled("auth");
    const { sources } = options;
    const middleware = tenancy({
      ...options,
      exemptPaths: [...systemPaths(), ...options.exemptPaths],
      hostOf: behindProxies ? forwardedHost : undefined,
      auth,
      env,
      logger,
    });
    if (!auth && sources.some((source) => source !== "token" && source !== "user")) {
      logger.warn({ sources }, "callers are not verified: any tenant that a request names is granted");
    }
    return { identity: middleware, info: { sources: [...sources] } };
  },
});
