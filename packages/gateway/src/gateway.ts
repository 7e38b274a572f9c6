import { contextOf, type Middleware, type ReadinessCheck, setRouteTemplate } from "@svc/context";
import { internalError, type ProblemError, unauthorized } from "@svc/problem";
import { safeLogger } from "@svc/resilience";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { Exchange } from "./exchange.ts";
import { notAnswering, tooLarge, unsafePath } from "./failures.ts";
import type { GatewayOptions } from "./options.ts";
import { gatewayReadiness } from "./readiness.ts";
import { hasBody } from "./request-body.ts";
import { resolveGateway } from "./resolve-gateway.ts";
import { findRoute, forwardedTarget, makeRoute, type Route, sortRoutes } from "./routes.ts";
import { startExchange } from "./start-exchange.ts";
import { Targets } from "./targets.ts";
import { isFromTrustedProxy } from "./trusted-proxies.ts";
import { createUpgrades } from "./upgrade.ts";

/** Middleware that passes requests on to other services; see {@link gateway}. */
export interface Gateway extends Middleware {
  /**
   * Returns the check that reports whether the targets respond; critical while no target of a route with `critical`
   * responds. The check sends no request.
   */
  readiness(): ReadinessCheck;
  /**
   * Passes on a WebSocket; for the event `upgrade` of the server. Responds with a problem if that is not possible.
   *
   * @param res a response that is assigned to the socket, for a server that passes upgrades through its middleware.
   *   Default: a new one
   * @returns false if no route handles the path; the caller must then end the socket
   */
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer, res?: ServerResponse): boolean;
  /** Returns the prefix of the route that would handle a request; undefined if there is none. */
  routeOf(req: IncomingMessage): string | undefined;
  /** Closes the WebSockets with the code 1001 on both sides. Resolves when they are closed, within about a second. */
  closeWebSockets(): Promise<void>;
  /**
   * Closes the WebSockets, and the connections to targets after their running requests. Later requests get a 503. The
   * second call returns the result of the first.
   */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Creates a reverse proxy: requests whose path is inside a route's prefix go to a target of the route, all others to the
 * next middleware. Mount it before body parsers.
 *
 * Passes to `next`: 400 for a path that could leave its prefix, 401 without a caller (`requireAuth`), 413 for a body that is
 * too large, 502 for an invalid response, 503 with `Retry-After` if no target answers, 504 after `timeoutSeconds`.
 *
 * @throws ConfigurationError for unknown and invalid options
 */
export function gateway(given: GatewayOptions): Gateway {
  const { routes: named, trust, span, now, ...settings } = resolveGateway(given);
  const logger = safeLogger(settings.logger);
  const prefixes = named.map(({ prefix }) => prefix);
  const routes = sortRoutes(
    named.map((route) => makeRoute(route, new Targets(route, now, logger), prefixes)),
  );
  const upgrades = createUpgrades({ routes, trust, span, logger });
  let stopped: Promise<void> | undefined;

  function gatewayMiddleware(
    req: IncomingMessage,
    res: ServerResponse,
    next: (error?: unknown) => void,
  ): void {
    const target = req.url ?? "";
    const route = findRoute(routes, target);
    if (route === undefined) return next();
    setRouteTemplate(req, route.template);
    const path = forwardedTarget(route, target);
    if (path === undefined) return next(unsafePath());
    const refusal = stopped === undefined ? refusalOf(req, route) : notAnswering(req, route);
    if (refusal !== undefined) return next(refusal);
    const forwarding = { route, path, isTrusted: isFromTrustedProxy(req, trust), logger };
    startExchange(new Exchange(forwarding, req, res, next), span);
  }

  async function stopAll(): Promise<void> {
    await upgrades.close();
    await Promise.all(routes.map(({ targets }) => targets.stop()));
  }

  const stop = (): Promise<void> => (stopped ??= stopAll());
  return Object.assign(gatewayMiddleware, {
    readiness: () => gatewayReadiness(routes),
    upgrade: upgrades.upgrade,
    routeOf: ({ url = "" }: IncomingMessage) => findRoute(routes, url)?.prefix,
    closeWebSockets: upgrades.close,
    stop,
    [Symbol.asyncDispose]: stop,
  });
}

function refusalOf(req: IncomingMessage, route: Route): ProblemError | undefined {
  if (route.requireAuth && contextOf(req)?.principal === undefined) return unauthorized();
  if (!hasBody(req)) return undefined;
  const { maxBodyBytes } = route;
  if (maxBodyBytes > 0 && Number(req.headers["content-length"] ?? 0) > maxBodyBytes) return tooLarge(route);
  // A body parser has already read the body, so the target would wait for it without end.
  return req.readableDidRead
    ? internalError({ cause: new Error("the gateway must be mounted before body parsers") })
    : undefined;
}
