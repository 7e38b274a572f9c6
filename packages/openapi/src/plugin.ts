import { defineOptions, fileOptions, pickOptions } from "@svc/options";
import { definePlugin } from "@svc/plugin";
import type { DocumentedRoute } from "./document.ts";
import { openapiOptions } from "./options.ts";

/** The routes of every service, beside those of its plugins. */
const SYSTEM: Readonly<Record<string, string>> = {
  "/health": "Whether the process is alive",
  "/ready": "Whether the service is ready, with its checks",
  "/info": "The version and the plugins of the service",
};

/** A service reads the JSON body of every request, even where a route needs none. */
const BODY_PROBLEMS = [400, 413, 415];

/** `[plugin.openapi]`: the document of the service's routes and a page to read it. */
export const openapiPlugin = definePlugin({
  name: "openapi",
  uses: ["auth", "tenancy", "rate_limit", "metrics"],
  options: defineOptions("[plugin.openapi]", {
    ...fileOptions(openapiOptions),
    ...pickOptions(openapiOptions, "info", "tokenCookie"),
  }),
  async start({ options, service, logger, isEnabled, systemPaths }) {
    const { openapi } = await import("./openapi.ts");
    const made = openapi({
      ...options,
      title: options.title ?? service.name,
      version: service.version,
      logger,
      problems: [
        ...BODY_PROBLEMS,
        // A wrong token is refused everywhere, and so is a tenant that the caller does not belong to.
        ...(isEnabled("auth") ? [401] : []),
        ...(isEnabled("tenancy") ? [403] : []),
        ...(isEnabled("rate_limit") ? [429] : []),
      ],
      routes: () => systemRoutes(service.env, systemPaths()),
    });
    return { edge: made.check, routes: made.handlers };
  },
});

function systemRoutes(env: string, pluginPaths: readonly string[]): DocumentedRoute[] {
  const own = Object.keys(SYSTEM).filter((path) => env !== "prod" || path !== "/info");
  const shown = pluginPaths.filter((path) => !/\.(?:js|css)$/.test(path));
  return [...new Set([...own, ...shown])].map((path) => ({
    method: "GET",
    template: path,
    // Neither callers nor tenants nor limits matter there.
    problems: BODY_PROBLEMS,
    description: {
      summary: SYSTEM[path] ?? "",
      tags: ["system"],
      responses: path === "/ready" ? { 200: "", 503: "The service is not ready" } : { 200: "" },
    },
  }));
}
