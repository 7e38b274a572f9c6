/** The properties of an Express application that this module reads, in Express 4 and 5. */
export interface RoutedApp {
  /** The router in Express 5. */
  readonly router?: unknown;
  /** The router in Express 4, once something has been registered. */
  readonly _router?: unknown;
}

/** An application's routes and mounted applications for one path. */
interface Claim {
  /**
   * Whether the application would respond: through a route, a mounted application, or middleware that is mounted at the
   * path or follows all routes.
   */
  claimed: boolean;
  /** The methods of the routes, in upper case. */
  readonly methods: Set<string>;
  /** Whether the methods are unknown, because of a route for all methods or a mounted application. */
  open: boolean;
}

interface Layer {
  readonly route?: { readonly methods?: Readonly<Record<string, unknown>> };
  readonly handle: ((...args: never[]) => unknown) & { readonly stack?: readonly Layer[] };
  /** The path that `match` found, in versions where `match` does not return it. */
  readonly path?: string;
  match(path: string): boolean | { readonly path: string };
}

/**
 * Finds the routes and mounted applications that would respond to a path. Middleware before the routes does not count,
 * because it passes requests on.
 */
export function claimOn(app: RoutedApp, path: string): Readonly<Claim> {
  const claim: Claim = { claimed: false, methods: new Set(), open: false };
  collect(stackOf(app), path, claim);
  return claim;
}

/** Returns whether an application has a route or a mounted application for a path. Middleware does not count. */
export function hasRoute(app: RoutedApp, path: string): boolean {
  const { methods, open } = claimOn(app, path);
  return open || methods.size > 0;
}

/** Counts an application's layers, without those that Express 4 adds itself. */
export function layerCount(app: RoutedApp): number {
  const own = (layer: Layer): boolean => !["query", "expressInit"].includes(layer.handle.name);
  return stackOf(app).filter(own).length;
}

function stackOf(app: RoutedApp): readonly Layer[] {
  // Read `_router` first, because Express 4 has a getter `router` that throws.
  const router = app._router ?? (Object.hasOwn(app, "_router") ? undefined : routerOf(app));
  return (router as { stack?: readonly Layer[] } | undefined)?.stack ?? [];
}

function routerOf(app: RoutedApp): unknown {
  try {
    return app.router;
  } catch {
    return undefined;
  }
}

function collect(stack: readonly Layer[], path: string, claim: Claim): void {
  const last = stack.findLastIndex((layer) => layer.route !== undefined || layer.handle.stack !== undefined);
  for (const [index, layer] of stack.entries()) {
    if (layer.handle.length > 3) continue;
    const match = layer.match(path);
    if (match === false) continue;
    const prefix = (typeof match === "object" ? match.path : (layer.path ?? "")).replace(/\/$/, "");
    if (layer.route !== undefined) {
      claim.claimed = true;
      const methods = Object.keys(layer.route.methods ?? {});
      // `route.all()` registers the entry `_all`, `app.all()` every method. Treat any route with TRACE as `app.all()`,
      // because applications hardly ever have a route for TRACE alone.
      if (methods.includes("_all") || methods.includes("trace")) claim.open = true;
      else for (const method of methods) claim.methods.add(method.toUpperCase());
    } else if (layer.handle.stack !== undefined) {
      collect(layer.handle.stack, path.slice(prefix.length) || "/", claim);
    } else if (layer.handle.name === "mounted_app") {
      claim.claimed = claim.open = true;
    } else if (index > last || prefix !== "") {
      // Middleware at this path or after all routes usually sends the response itself.
      claim.claimed = true;
    }
  }
}
