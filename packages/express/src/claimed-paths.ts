/** What of an Express application of either major is looked at. */
export interface RoutedApp {
  /** Express 5. */
  readonly router?: unknown;
  /** Express 4, once something has been registered. */
  readonly _router?: unknown;
}

/** What an application has registered for one path. */
export interface Claim {
  /** Whether it would answer, by a route of any method, a mounted application or a trailing middleware. */
  readonly claimed: boolean;
  /** The methods of its routes, in upper case. */
  readonly methods: ReadonlySet<string>;
  /** Whether it takes methods that cannot be told: a route for all of them, or a mounted application. */
  readonly open: boolean;
}

interface Layer {
  readonly route?: { readonly methods?: Readonly<Record<string, unknown>> };
  readonly handle: ((...args: never[]) => unknown) & { readonly stack?: readonly Layer[] };
  /** What `match` has found, in versions in which it does not return that. */
  readonly path?: string;
  match(path: string): boolean | { readonly path: string };
}

/** Looks for what would answer for a path. A middleware in front of routes evidently passes on: it claims nothing. */
export function claimOn(app: RoutedApp, path: string): Claim {
  const claim = { claimed: false, methods: new Set<string>(), open: false };
  collect(stackOf(app), path, claim);
  return claim;
}

/** Whether an application has a route for a path, or one mounted there; a middleware is none. */
export function hasRoute(app: RoutedApp, path: string): boolean {
  const { methods, open } = claimOn(app, path);
  return open || methods.size > 0;
}

/** How many layers an application has, those that Express 4 adds by itself left out. */
export function layerCount(app: RoutedApp): number {
  const own = (layer: Layer): boolean => !["query", "expressInit"].includes(layer.handle.name);
  return stackOf(app).filter(own).length;
}

function stackOf(app: RoutedApp): readonly Layer[] {
  // Express 4 has a getter named `router` that throws; it is asked for its `_router` first.
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

function collect(
  stack: readonly Layer[],
  path: string,
  claim: { claimed: boolean; methods: Set<string>; open: boolean },
): void {
  const last = stack.findLastIndex((layer) => layer.route !== undefined || layer.handle.stack !== undefined);
  for (const [index, layer] of stack.entries()) {
    if (layer.handle.length > 3) continue;
    const match = layer.match(path);
    if (match === false) continue;
    const prefix = (typeof match === "object" ? match.path : (layer.path ?? "")).replace(/\/$/, "");
    if (layer.route !== undefined) {
      claim.claimed = true;
      const methods = Object.keys(layer.route.methods ?? {});
      // `route.all` is a method of its own name, `app.all` every one there is.
      if (methods.includes("_all") || methods.includes("trace")) claim.open = true;
      else for (const method of methods) claim.methods.add(method.toUpperCase());
    } else if (layer.handle.stack !== undefined) {
      collect(layer.handle.stack, path.slice(prefix.length) || "/", claim);
    } else if (layer.handle.name === "mounted_app") {
      claim.claimed = claim.open = true;
    } else if (index > last || prefix !== "") {
      // Mounted at a path of its own, it was put there to answer; behind all routes, it answers what is left over.
      claim.claimed = true;
    }
  }
}
