import { type Middleware, setRouteTemplate } from "@svc/context";
import { methodNotAllowed, sendProblem } from "@svc/problem";
import { claimOn, type RoutedApp } from "./claimed-paths.ts";

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
   * Looks at what the application has registered: a route whose path it would claim goes in front (ROUTE-2).
   * Everything else stays behind and costs an application's request nothing.
   */
  place(app: RoutedApp): void;
}

export function frameworkRoutes(routes: readonly FrameworkRoute[]): FrameworkRoutes {
  const behind = new Map<string, Answer>();
  const inFront = new Map<string, Answer>();
  const dispatchFront = dispatcher(inFront);
  for (const { path, handler } of routes) behind.set(path, { handler, allow: reads, passes: () => false });

  return {
    behind: dispatcher(behind),
    front(req, res, next) {
      if (inFront.size === 0) next();
      else dispatchFront(req, res, next);
    },
    place(app) {
      for (const { path, handler } of routes) {
        const { claimed, methods, open } = claimOn(app, path);
        const allow = [...new Set([...reads, ...methods])].toSorted();
        behind.set(path, { handler, allow, passes: () => false });
        if (claimed) inFront.set(path, { handler, allow, passes: (method) => open || methods.has(method) });
      }
    },
  };
}

const reads: readonly string[] = ["GET", "HEAD"];

/** A route, and what becomes of the methods that it does not have. */
interface Answer {
  readonly handler: Middleware;
  readonly allow: readonly string[];
  /** Whether the application answers a method itself. */
  passes(method: string): boolean;
}

function dispatcher(routes: ReadonlyMap<string, Answer>): Middleware {
  return function dispatchFrameworkRoute(req, res, next) {
    const path = pathOf(req.url ?? "");
    const answer = routes.get(path);
    if (answer === undefined) {
      next();
      return;
    }
    if (req.method === "GET" || req.method === "HEAD") {
      setRouteTemplate(req, path);
      answer.handler(req, res, next);
    } else if (answer.passes(req.method ?? "")) {
      next();
    } else {
      setRouteTemplate(req, path);
      sendProblem(req, res, methodNotAllowed(answer.allow));
    }
  };
}

function pathOf(target: string): string {
  if (!target.startsWith("/")) return URL.parse(target)?.pathname ?? target;
  const query = target.indexOf("?");
  return query === -1 ? target : target.slice(0, query);
}
