import { alternatives, type Path } from "./path-template.ts";

/**
 * The undocumented parts of Express that a template is read from. The routers of Express 4 and Express 5 store the same data
 * under different names.
 */
export interface AppShape {
  /** The application that last mounted this one with `use`. */
  readonly parent?: AppShape | undefined;
  readonly mountpath?: unknown;
  /** The router in Express 5; in Express 4, a getter that throws. */
  readonly router?: RouterShape | undefined;
  /** The router in Express 4. */
  readonly _router?: RouterShape | undefined;
  readonly lazyrouter?: unknown;
}

export interface RouterShape {
  readonly stack: readonly LayerShape[];
}

export interface LayerShape {
  readonly name?: string;
  readonly route?: RouteShape | undefined;
  readonly handle?: unknown;
  /** The method of a route handler in lower case; undefined for all methods. */
  readonly method?: string | undefined;
  /** Express 5: whether the layer is mounted at `/`. */
  readonly slash?: boolean;
  /** Express 5, from router 2.3: the mount path as the application passed it. */
  readonly rawPath?: unknown;
  /** Express 4: the compiled mount path. */
  readonly regexp?: RegExp & { readonly fast_slash?: boolean };
  /** Express 4: the parameters of `regexp`, in order. */
  readonly keys?: readonly { readonly name: string | number }[];
}

export interface RouteShape {
  readonly path?: unknown;
  /** The route's handlers. */
  readonly stack?: readonly LayerShape[];
}

/** Returns whether a value is an Express application. */
export function isApplication(value: unknown): value is AppShape {
  return typeof value === "function" && "settings" in value && "mountpath" in value;
}

/**
 * Returns whether a value is an Express router. A Connect application has a `stack` too, but its `route` is a string.
 */
export function isRouter(value: unknown): value is RouterShape {
  return (
    typeof value === "function" && "route" in value && typeof value.route === "function" && hasStack(value)
  );
}

function hasStack(value: unknown): value is RouterShape {
  return Array.isArray((value as Partial<RouterShape> | null | undefined)?.stack);
}

const NO_LAYERS: readonly LayerShape[] = [];

/** Returns the layers of an application's own router. */
export function layersOf(app: AppShape): readonly LayerShape[] {
  const router = app._router ?? (app.lazyrouter === undefined ? app.router : undefined);
  return router?.stack ?? NO_LAYERS;
}

/** Returns the layers of the router that a layer leads to, or undefined when it does not lead to a router. */
export function layersBehind(layer: LayerShape): readonly LayerShape[] | undefined {
  return hasStack(layer.handle) ? layer.handle.stack : undefined;
}

/** Returns the paths that a layer is mounted at: as written, or as reconstructed from Express 4's regular expression. */
export function mountPathsOf(layer: LayerShape): readonly Path[] {
  if (layer.slash === true || layer.regexp?.fast_slash === true) return [""];
  if (layer.rawPath !== undefined) return alternatives(layer.rawPath);
  return layer.regexp === undefined ? [undefined] : readBack(layer.regexp, layer.keys ?? []);
}

// path-to-regexp 0.1 appends this to every mount path, and joins the paths of a list with `|`.
const MOUNT_END = String.raw`(?=\/|$)`;
const OPTIONAL_SLASH = String.raw`\/?`;

/** Reconstructs the paths from the compiled expression, because Express 4 does not keep them. */
function readBack(regexp: RegExp, keys: readonly { readonly name: string | number }[]): readonly Path[] {
  const { source } = regexp;
  if (!source.startsWith("^") || !source.endsWith(MOUNT_END)) return [regexp];
  const names = keys.map(({ name }) => (typeof name === "string" ? `:${name}` : "*"));
  return source
    .slice(1, -MOUNT_END.length)
    .split(`${MOUNT_END}|^`)
    .map((one) => pathOf(one.endsWith(OPTIONAL_SLASH) ? one.slice(0, -OPTIONAL_SLASH.length) : one, names));
}

/** Returns the path that was compiled to `source`. Removes its parameter names from the front of `names`. */
function pathOf(source: string, names: string[]): string {
  let path = "";
  let index = 0;
  while (index < source.length) {
    const char = source.charAt(index);
    if (char === "\\") {
      path += source.charAt(index + 1);
      index += 2;
    } else if (source.startsWith("(?:", index)) {
      index += 3;
    } else if (char === "(") {
      const { end, captures } = groupAt(source, index);
      path += names.splice(0, captures)[0] ?? "*";
      index = end;
    } else {
      // Skip the bracket that closes a `(?:`; keep a `?` after it, as in an optional `:name?`.
      if (char !== ")") path += char;
      index++;
    }
  }
  return path;
}

/** Returns the end of the group that opens at `start`, and the number of its capturing groups, itself included. */
function groupAt(source: string, start: number): { readonly end: number; readonly captures: number } {
  let depth = 0;
  let captures = 0;
  let inClass = false;
  for (let index = start; index < source.length; index++) {
    const char = source[index];
    if (char === "\\") {
      index++;
    } else if (inClass) {
      inClass = char !== "]";
    } else if (char === "[") {
      inClass = true;
    } else if (char === "(") {
      depth++;
      if (source[index + 1] !== "?") captures++;
    } else if (char === ")" && --depth === 0) {
      return { end: index + 1, captures };
    }
  }
  return { end: source.length, captures };
}
