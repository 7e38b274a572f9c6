import { pathOfTarget } from "@svc/context";
import type { IncomingMessage } from "node:http";

/** The undocumented members of Express 4 and 5 that this file reads. */
interface LayerShape {
  readonly route?: RouteShape | undefined;
  readonly handle?: unknown;
  readonly method?: string | undefined;
  readonly path?: unknown;
  match(path: string): unknown;
}

interface RouteShape {
  readonly methods?: Readonly<Record<string, unknown>>;
  readonly stack?: readonly LayerShape[];
}

interface AppShape {
  readonly parent?: unknown;
  readonly _router?: unknown;
  readonly router?: unknown;
}

interface RoutedRequest extends IncomingMessage {
  readonly app?: AppShape;
  readonly baseUrl?: string;
}

const MAX_NESTING = 20;

/**
 * Returns the limits that a request will reach: those of the first route that Express will run for it, and those of the
 * routers that lead to this route. Skips layers that it cannot read, such as mounted applications; limits in them are not
 * found.
 *
 * @param limitOf returns the limit that a handler represents; undefined for any other handler
 */
export function limitsAhead<L>(
  req: IncomingMessage,
  limitOf: (handle: unknown) => L | undefined,
): readonly L[] {
  const { app, baseUrl = "", url = "/" } = req as RoutedRequest;
  const found: L[] = [];
  const withPath = new Set<L>();
  // Within a mounted application `baseUrl` begins with the path of the mount, which its own layers do not match.
  if (app === undefined || app.parent !== undefined) return found;
  const method = (req.method ?? "GET").toLowerCase();
  collect(stackOf(routerOf(app)), baseUrl + pathOfTarget(url), 0);
  return found;

  /** Returns whether a route handles the request. */
  function collect(stack: readonly LayerShape[], path: string, nesting: number): boolean {
    return stack.some((layer) =>
      layer.route === undefined
        ? collectMounted(layer, path, nesting)
        : collectRoute(layer, layer.route, path),
    );
  }

  /** Collects the limits of a handler mounted with `use`. Returns whether the handler is a router that handles the request. */
  function collectMounted(layer: LayerShape, path: string, nesting: number): boolean {
    const inner = stackOf(layer.handle);
    const limit = limitOf(layer.handle);
    if (inner.length === 0 && limit === undefined) return false;
    const matched = prefixMatched(layer, path);
    if (matched === undefined) return false;
    if (limit !== undefined) found.push(limit);
    if (limit !== undefined && matched !== "") withPath.add(limit);
    const before = found.length;
    if (nesting < MAX_NESTING && collect(inner, path.slice(matched.length) || "/", nesting + 1)) return true;
    // If no route in the router handles the request, keep only the limits that are mounted at a path.
    found.push(...found.splice(before).filter((each) => withPath.has(each)));
    return false;
  }

  function collectRoute(layer: LayerShape, route: RouteShape, path: string): boolean {
    const handled = methodOf(route, method);
    if (handled === undefined || prefixMatched(layer, path) === undefined) return false;
    const ofMethod = handled === EVERY_METHOD ? method : handled;
    for (const each of route.stack ?? NO_LAYERS) {
      if (each.method !== undefined && each.method !== ofMethod) continue;
      const limit = limitOf(each.handle);
      if (limit !== undefined) found.push(limit);
    }
    // Handlers for all methods usually run in addition to the handlers that respond.
    return handled !== EVERY_METHOD;
  }
}

const NO_LAYERS: readonly LayerShape[] = [];
const EVERY_METHOD = "*";

/** Returns the method whose handlers a route runs for a request; undefined if it has none. */
function methodOf({ methods = {} }: RouteShape, method: string): string | undefined {
  // `app.all()` adds every method; `route.all()` adds only the entry `_all`.
  if (methods["connect"] === true && methods["trace"] === true) return EVERY_METHOD;
  if (methods[method] === true) return method;
  if (method === "head" && methods["get"] === true) return "get";
  return methods["_all"] === true ? EVERY_METHOD : undefined;
}

/** Returns the part of the path that a layer matches, or undefined. Express 4 stores the part on the layer. */
function prefixMatched(layer: LayerShape, path: string): string | undefined {
  try {
    const match = layer.match(path);
    if (match === false || match === undefined || match === null) return undefined;
    const part = typeof match === "object" ? (match as { path?: unknown }).path : layer.path;
    if (typeof part !== "string" || !path.startsWith(part)) return undefined;
    return part.endsWith("/") ? part.slice(0, -1) : part;
  } catch {
    // The path cannot be decoded.
    return undefined;
  }
}

function stackOf(router: unknown): readonly LayerShape[] {
  const stack = (router as { readonly stack?: unknown } | null | undefined)?.stack;
  return Array.isArray(stack) ? (stack as LayerShape[]) : NO_LAYERS;
}

// Express 5 has `router`. Express 4 has `_router`, and a getter `router` that throws.
function routerOf(app: AppShape): unknown {
  try {
    return app._router ?? app.router;
  } catch {
    return undefined;
  }
}
