import { type Middleware, setRouteTemplate } from "@svc/context";
import { methodNotAllowed, sendProblem } from "@svc/problem";
import { claimsPath, type RoutedApp } from "./claimed-paths.ts";

/** A route with a fixed path that belongs to the service itself: GET and HEAD. */
export interface FrameworkRoute {
  readonly path: string;
  readonly handler: Middleware;
}

/** The framework's routes: most stand behind the application's, some have to stand in front. */
export interface FrameworkRoutes {
  /** Stands in front of the application's routes; passes on what is not its own. */
  readonly front: Middleware;
  /** Stands behind them. */
  readonly behind: Middleware;
  /**
   * Looks at what the application has registered: a route whose path it would claim goes in front (ROUTE-*).
   * Everything else stays behind and costs an application's request nothing.
   */
  place(app: RoutedApp): void;
}

export function frameworkRoutes(routes: readonly FrameworkRoute[]): FrameworkRoutes {
  const behind = dispatcher(new Map(routes.map((route) => [route.path, route.handler])));
  const inFront = new Map<string, Middleware>();
  const dispatchFront = dispatcher(inFront);

  return {
    behind,
    front(req, res, next) {
      if (inFront.size === 0) next();
      else dispatchFront(req, res, next);
    },
    place(app) {
      for (const route of routes) if (claimsPath(app, route.path)) inFront.set(route.path, route.handler);
    },
  };
}

function dispatcher(routes: ReadonlyMap<string, Middleware>): Middleware {
  return function dispatchFrameworkRoute(req, res, next) {
    const url = req.url ?? "";
    const query = url.indexOf("?");
    const path = query === -1 ? url : url.slice(0, query);
    const handler = routes.get(path);
    if (handler === undefined) {
      next();
      return;
    }
    setRouteTemplate(req, path);
    if (req.method === "GET" || req.method === "HEAD") handler(req, res, next);
    else sendProblem(req, res, methodNotAllowed(["GET", "HEAD"]));
  };
}
