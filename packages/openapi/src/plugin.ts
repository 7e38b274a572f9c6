import { defineOptions, fileOptions, pickOptions } from "@svc/options";
import { definePlugin } from "@svc/plugin";
import { openapiOptions } from "./options.ts";
import { BODY_PROBLEMS, SYSTEM_TAGS, systemRoutes } from "./system-routes.ts";

export type { DocumentedRoute } from "./document.ts";

/** `[plugin.openapi]`: the document of the service's routes and a page to read it. */
export const openapiPlugin = definePlugin({
  name: "openapi",
  uses: ["auth", "tenancy", "rate_limit", "metrics"],
  options: defineOptions("[plugin.openapi]", {
    ...fileOptions(openapiOptions),
    ...pickOptions(openapiOptions, "info", "tags", "tokenCookie", "routes"),
  }),
  async start({ options, service, logger, isEnabled, systemPaths }) {
    const { openapi } = await import("./openapi.ts");
    const made = openapi({
      ...options,
      title: options.title ?? service.name,
      version: service.version,
      tags: { ...SYSTEM_TAGS, ...options.tags },
      logger,
      problems: [
        ...BODY_PROBLEMS,
        // Every route rejects an invalid token, and a tenant that the caller does not belong to.
        ...(isEnabled("auth") ? [401] : []),
        ...(isEnabled("tenancy") ? [403] : []),
        ...(isEnabled("rate_limit") ? [429] : []),
      ],
      routes: () => [
        ...systemRoutes(service.env, systemPaths(), options.docsPath),
        ...(options.routes?.() ?? []),
      ],
    });
    return { edge: made.check, routes: made.handlers };
  },
});
