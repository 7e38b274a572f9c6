/** What of an Express application of either major is looked at. */
export interface RoutedApp {
  /** Express 5. */
  readonly router?: unknown;
  /** Express 4, once something has been registered. */
  readonly _router?: unknown;
}

interface Layer {
  readonly route?: unknown;
  readonly handle: ((...args: never[]) => unknown) & { readonly stack?: readonly Layer[] };
  /** What `match` found to be the path of this layer. */
  readonly path?: string;
  match(path: string): boolean;
}

/**
 * Whether an application would answer for a path, by a route of any method, a mounted application or a trailing
 * middleware. A middleware in front of other routes evidently passes on, so it claims nothing.
 */
export function claimsPath(app: RoutedApp, path: string): boolean {
  const stack = stackOf(app);
  return stack !== undefined && claims(stack, path);
}

function stackOf(app: RoutedApp): readonly Layer[] | undefined {
  // Express 4 has a getter named `router` that throws; it is asked for its `_router` first.
  const router = app._router ?? (Object.hasOwn(app, "_router") ? undefined : routerOf(app));
  return (router as { stack?: readonly Layer[] } | undefined)?.stack;
}

function routerOf(app: RoutedApp): unknown {
  try {
    return app.router;
  } catch {
    return undefined;
  }
}

function claims(stack: readonly Layer[], path: string): boolean {
  const last = stack.findLastIndex((layer) => layer.route !== undefined || layer.handle.stack !== undefined);
  return stack.some((layer, index) => {
    if (layer.handle.length > 3 || !layer.match(path)) return false;
    if (layer.route !== undefined) return true;
    if (layer.handle.stack !== undefined)
      return claims(layer.handle.stack, path.slice(layer.path?.length ?? 0) || "/");
    // Mounted at a path of its own, it was put there to answer; behind all routes, it answers what is left over.
    return index > last || (layer.path ?? "") !== "" || layer.handle.name === "mounted_app";
  });
}
