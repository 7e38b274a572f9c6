import type { ServiceSettings } from "@svc/config";
import type { Logger, Middleware } from "@svc/context";
import { bodyLimit, jsonBody } from "@svc/json-body";
import { requestId } from "@svc/request-id";
import cors from "cors";
import type { PluginParts } from "@svc/plugin";
import type { PageHelmet } from "./helmet-headers.ts";
import { allBodyPaths, type BodyPaths, ownBodies } from "./own-bodies.ts";
import { securityHeaders } from "./security-headers.ts";
import { trustedHosts } from "./trusted-hosts.ts";
import type { WebEdge } from "./web/kind-web.ts";

type LayerSlot = "edge" | "identity" | "admission" | "behindBody";

/** Options in code for the middleware before an application's routes. */
interface EdgeCode extends BodyPaths {
  readonly helmet?: PageHelmet | undefined;
}

/**
 * Returns the middleware that runs before an application's routes, in order.
 *
 * @param web undefined for every kind of service but `web`
 */
export function edgeLayers(
  settings: ServiceSettings,
  plugins: readonly PluginParts[],
  hasOwnLimits: PluginParts["hasOwnLimits"],
  web: WebEdge | undefined,
  code: EdgeCode,
  logger: Logger,
): readonly Middleware[] {
  const of = (slot: LayerSlot): readonly (Middleware | undefined)[] => plugins.map((each) => each[slot]);
  const { maxBodyBytes } = settings;
  const parsers = [web?.formBody, jsonBody({ maxBytes: maxBodyBytes, otherTypes: "refuse" })];
  const layers: (Middleware | undefined)[] = [
    requestId(),
    ...of("edge"),
    settings.securityHeaders
      ? securityHeaders({
          https: isDeployed(settings),
          pageHeaders: web?.pageHeaders,
          helmet: code.helmet,
          logger,
        })
      : undefined,
    settings.cors.origins.length > 0 ? corsLayer(settings) : undefined,
    settings.trustedHosts.length > 0
      ? trustedHosts(settings.trustedHosts, calledByAddress(plugins))
      : undefined,
    unless(hasOwnLimits, bodyLimit({ maxBytes: maxBodyBytes })),
    // The same-origin rule runs before identity, which may look up and renew a session.
    web?.sameOrigin,
    ...of("identity"),
    ...of("admission"),
    ...ownBodies(
      allBodyPaths(settings, code),
      maxBodyBytes,
      parsers.filter((each) => each !== undefined),
    ),
    ...of("behindBody"),
  ];
  return layers.filter((layer) => layer !== undefined);
}

/**
 * Returns a function that returns whether a plugin applies its own limits to a request; undefined if no plugin does. If the
 * function of a plugin throws, the limits of the service apply: the server would end the process otherwise.
 */
export function ownLimitsOf(plugins: readonly PluginParts[], logger: Logger): PluginParts["hasOwnLimits"] {
  const all = plugins.flatMap((each) => each.hasOwnLimits ?? []);
  if (all.length === 0) return undefined;
  return (req) => {
    try {
      return all.some((hasOwnLimits) => hasOwnLimits(req));
    } catch (err) {
      logger.error({ err }, "hasOwnLimits() of a plugin threw; the limits of the service apply");
      return false;
    }
  };
}

function unless(exempt: PluginParts["hasOwnLimits"], layer: Middleware): Middleware {
  if (exempt === undefined) return layer;
  return (req, res, next) => (exempt(req) ? next() : layer(req, res, next));
}

/** Returns the paths that probes and scrapers request by the address of the process. */
function calledByAddress(plugins: readonly PluginParts[]): ReadonlySet<string> {
  const routes = plugins.flatMap((each) => each.routes ?? []);
  const called = routes.filter((route) => route.calledByAddress === true);
  return new Set(["/health", "/ready", ...called.map(({ path }) => path)]);
}

// A local service does not use https; headers that require https would lock out the browser.
function isDeployed({ env }: ServiceSettings): boolean {
  return env === "staging" || env === "prod";
}

function corsLayer({ cors: settings }: ServiceSettings): Middleware {
  const any = settings.origins.includes("*");
  return cors({
    origin: any ? "*" : [...settings.origins],
    credentials: settings.credentials,
    methods: [...settings.methods],
    exposedHeaders: [...settings.exposedHeaders],
    maxAge: settings.maxAgeSeconds,
    ...(settings.allowedHeaders === undefined ? {} : { allowedHeaders: [...settings.allowedHeaders] }),
  }) as Middleware;
}
