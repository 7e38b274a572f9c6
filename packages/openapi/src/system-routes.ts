import type { ResponseDescription, RouteDescription } from "./description.ts";
import type { DocumentedRoute } from "./document.ts";
import { DOCUMENT_PATH } from "./options.ts";
import type { JsonSchema } from "./schema.ts";

/** A service reads the JSON body of every request, even if a route needs none. */
export const BODY_PROBLEMS: readonly number[] = [400, 413, 415];

/** Descriptions of the tags that a service itself uses. */
export const SYSTEM_TAGS = {
  system: "Routes that every service has: its health, its metrics and its description",
};

type Described = Partial<RouteDescription>;

const text: JsonSchema = { type: "string" };

function objectOf(
  properties: Readonly<Record<string, JsonSchema>>,
  required = Object.keys(properties),
): JsonSchema {
  return { type: "object", required, properties };
}

function json(schema: JsonSchema, description?: string): ResponseDescription {
  return { description, body: { schema } };
}

const readiness = objectOf({
  status: { enum: ["ok", "degraded", "unavailable"] },
  service: text,
  checks: {
    type: "object",
    additionalProperties: objectOf({
      healthy: { type: "boolean" },
      status: { enum: ["ok", "fail", "timeout", "error"] },
      detail: text,
      critical: { type: "boolean" },
    }),
  },
});

/** The routes of every service, in addition to those of its plugins. */
const own: Readonly<Record<string, Described>> = {
  "/health": {
    summary: "Whether the process is alive",
    description: "Asks no dependency, so it answers even if all of them are down.",
    responses: { 200: json(objectOf({ status: { const: "ok" }, service: text, version: text, env: text })) },
  },
  "/ready": {
    summary: "Whether the service is ready, with its checks",
    description:
      "Runs the readiness checks. A failing check that is not critical makes the service only degraded.",
    responses: { 200: json(readiness), 503: json(readiness, "The service is not ready") },
  },
  "/info": {
    summary: "The version and the plugins of the service",
    description: "Names the plugins with their settings, without secrets.",
    responses: { 200: json(objectOf({ service: text, version: text, env: text })) },
  },
};

const documentRoute: Described = {
  summary: "This document",
  description: "Describes every route of the service, as OpenAPI 3.1.",
  responses: { 200: json({ type: "object" }), 304: "The client has this document" },
};

const pageRoute: Described = {
  summary: "This document as a page",
  description: "Shows the routes to people, who can send requests from the page.",
  responses: { 200: { contentType: "text/html", body: { schema: text } } },
};

/** Returns the description of a route of another plugin. */
function pluginRoute(path: string): Described {
  return path.endsWith("/metrics")
    ? {
        summary: "The metrics of the service",
        description: "Counters and histograms for Prometheus.",
        responses: {
          200: {
            contentType: "text/plain",
            body: { schema: text },
            bodies: { "application/openmetrics-text": { schema: text } },
          },
        },
      }
    : { summary: `Serves ${path}`, description: "A route of a plugin of the service." };
}

/**
 * Returns the routes that a service has without its application.
 *
 * @param pluginPaths the paths of its plugins
 * @param docsPath the path of the page
 */
export function systemRoutes(
  env: string,
  pluginPaths: readonly string[],
  docsPath: string,
): DocumentedRoute[] {
  const paths = Object.keys(own).filter((path) => env !== "prod" || path !== "/info");
  const shown = pluginPaths.filter((path) => !/\.(?:js|css)$/.test(path));
  const known: Readonly<Record<string, Described>> = {
    ...own,
    [DOCUMENT_PATH]: documentRoute,
    [docsPath]: pageRoute,
  };
  return [...new Set([...paths, ...shown])].map((path) => ({
    method: "GET",
    template: path,
    // These routes check no caller, tenant or limit.
    problems: BODY_PROBLEMS,
    description: { tags: ["system"], ...(known[path] ?? pluginRoute(path)) },
  }));
}
