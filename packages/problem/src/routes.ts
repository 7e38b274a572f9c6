/** The methods of a path. */
export interface AllowedMethods {
  readonly methods: ReadonlySet<string>;
  /** Whether Express responds to OPTIONS for the path: false if a route is in a function that is not a router of Express. */
  readonly hasOptions: boolean;
}

/**
 * Returns the methods that the routes of an Express application accept for a path. Reads the undocumented stacks of Express
 * 4 and 5 and skips entries of an unexpected form; the response is then 404 instead of 405.
 */
export function allowedMethods(app: unknown, path: string): AllowedMethods {
  const found: Found = { methods: new Set(), hasOptions: true };
  collect(routerOf(app), path, found, 0);
  if (found.methods.has("GET")) found.methods.add("HEAD");
  return found;
}

interface Found {
  readonly methods: Set<string>;
  hasOptions: boolean;
}

interface Layer {
  readonly name?: unknown;
  readonly route?: { readonly methods?: Readonly<Record<string, unknown>> } | undefined;
  readonly handle?: unknown;
  readonly path?: unknown;
  match(path: string): unknown;
}

const MAX_NESTING = 20;

function collect(router: unknown, path: string, found: Found, nesting: number): void {
  if (nesting > MAX_NESTING) return;
  for (const layer of layersOf(router)) {
    const isNested = layer.route === undefined && hasStack(layer.handle);
    if (!isNested && layer.route?.methods === undefined) continue;
    const matched = prefixMatched(layer, path);
    if (matched === undefined) continue;
    if (isNested) collect(layer.handle, path.slice(matched.length) || "/", found, nesting + 1);
    else if (addMethods(layer.route?.methods ?? {}, found.methods) && !isRouter(router))
      found.hasOptions = false;
  }
}

function layersOf(router: unknown): readonly Layer[] {
  const stack = (router as { stack?: unknown } | null | undefined)?.stack;
  return Array.isArray(stack) ? (stack as Layer[]) : [];
}

// Skip handlers for all methods, because they usually run in addition to the handlers that respond: `app.all` registers
// every method, `route.all` only the entry `_all`, which is not a method.
function addMethods(methods: Readonly<Record<string, unknown>>, found: Set<string>): boolean {
  if (methods["connect"] === true && methods["trace"] === true) return false;
  const own = Object.keys(methods).filter((method) => method !== "_all");
  for (const method of own) found.add(method.toUpperCase());
  return own.length > 0;
}

/** Returns whether a value is a router of Express, which answers OPTIONS for its routes. */
function isRouter(value: unknown): boolean {
  return typeof (value as { route?: unknown } | null | undefined)?.route === "function";
}

/**
 * Returns the part of the path that a layer matches, or undefined. Older routers return a boolean and store the part on
 * the layer.
 */
function prefixMatched(layer: Layer, path: string): string | undefined {
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

function hasStack(handle: unknown): boolean {
  return typeof handle === "function" && Array.isArray((handle as { stack?: unknown }).stack);
}

// Express 5 has `router`. Express 4 has `_router`, and a getter `router` that throws.
function routerOf(app: unknown): unknown {
  const holder = app as { _router?: unknown; router?: unknown } | null | undefined;
  try {
    return holder?._router ?? holder?.router;
  } catch {
    return undefined;
  }
}

interface MountedApp {
  readonly parent?: unknown;
}

/**
 * Returns the path of a request as an application sees it.
 *
 * @param baseUrl the beginning of the path, at which the current application or router is mounted
 * @param path the rest of the path
 */
export function pathWithin(app: unknown, baseUrl: string, path: string): string {
  let longest: string | undefined;
  for (const mount of mountsOf(app, baseUrl, 0)) {
    if (mount.length >= (longest?.length ?? 0)) longest = mount;
  }
  return baseUrl.slice((longest ?? baseUrl).length) + path;
}

/**
 * Returns the beginnings of `baseUrl` at which an application may be mounted. An application remembers its parent and its
 * last mount only, and the layers of its parent do not show which application they lead to.
 */
function mountsOf(app: unknown, baseUrl: string, nesting: number): ReadonlySet<string> {
  const parent = (app as MountedApp | null)?.parent ?? undefined;
  if (parent === undefined || nesting > MAX_NESTING) return new Set([""]);
  const mounts = new Set<string>();
  const layers = layersOf(routerOf(parent)).filter(({ name }) => name === "mounted_app");
  for (const start of mountsOf(parent, baseUrl, nesting + 1)) {
    for (const layer of layers) {
      const matched = prefixMatched(layer, baseUrl.slice(start.length) || "/");
      if (matched !== undefined) mounts.add(start + matched);
    }
  }
  return mounts;
}
