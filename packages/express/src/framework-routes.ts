import { type Middleware, routedPathOf, setRouteTemplate } from "@svc/context";
import { compose, type FrameworkRoute } from "@svc/plugin";
import { methodNotAllowed, sendProblem } from "@svc/problem";
import { claimOn, type RoutedApp } from "./claimed-paths.ts";

/** Returns the framework's routes. Most of them run after the application's routes; some must run before them. */
export function frameworkRoutes(given: readonly FrameworkRoute[]) {
  // Express 4 ignores the promise of a handler, and `dispatcher()` returns none to Express 5.
  const routes = given.map(({ path, handler }) => ({ path, handler: compose([handler]) }));
  const behind = new Map<string, Answer>();
  const inFront = new Map<string, Answer>();
  const dispatchFront = dispatcher(inFront);
  /**
   * Handles requests for the framework routes that must run before the application's routes, and passes on all others.
   */
  const front: Middleware = (req, res, next) => {
    if (inFront.size === 0) next();
    else dispatchFront(req, res, next);
  };
  for (const { path, handler } of routes) behind.set(path, { handler, allow: reads, passes: () => false });

  return {
    front,
    /** Handles requests for all framework routes, after the application's routes. */
    behind: dispatcher(behind),
    /**
     * Moves each framework route before the application's routes if the application would respond to its path
     * (ROUTE-2). The others stay after the application's routes, where they do not slow down its requests.
     */
    place(app: RoutedApp): void {
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

/** A framework route, with the methods of its path. */
interface Answer {
  readonly handler: Middleware;
  readonly allow: readonly string[];
  /** Returns whether the application itself handles a method. */
  passes(method: string): boolean;
}

function dispatcher(routes: ReadonlyMap<string, Answer>): Middleware {
  return function dispatchFrameworkRoute(req, res, next) {
    const path = routedPathOf(req.url ?? "");
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
