import type { IncomingMessage } from "node:http";
import {
  alternatives,
  bestMatch,
  mounted,
  type PathTemplate,
  ROOT,
  routed,
  shown,
  unplaced,
} from "./path-template.ts";
import {
  type AppShape,
  layersBehind,
  layersOf,
  type LayerShape,
  mountPathsOf,
  type RouteShape,
} from "./router-shapes.ts";

// Limits for applications with deeply nested routers; routes beyond them are not found.
const MAX_LAYERS = 50_000;
const MAX_PLACES = 64;

/** The routes of one application; read once, and again when a route is missing. */
interface RouteIndex {
  /** The outermost application, which has no parent. */
  readonly top: AppShape;
  readonly layers: readonly LayerShape[];
  readonly layerCount: number;
  /** The template of each route; a list of candidates when there are several or the route was not found. */
  readonly routes: WeakMap<RouteShape, string | readonly PathTemplate[]>;
  /** The mounts with contents that cannot be read: an application, or a function around a router. */
  readonly closed: readonly PathTemplate[];
}

const TEMPLATE: unique symbol = Symbol.for("@svc/context/1/route-template") as never;

interface RoutedRequest extends IncomingMessage {
  readonly app?: AppShape;
  readonly route?: RouteShape;
  readonly baseUrl?: string;
  readonly originalUrl?: string;
  [TEMPLATE]?: string;
}

const indexes = new WeakMap<AppShape, RouteIndex>();
/** The index in which a route was found; after an error, `req.app` is no longer the sub-application. */
const owners = new WeakMap<RouteShape, RouteIndex>();

/**
 * Sets the template of a request that no Express route answers: for middleware with fixed paths of its own, and for
 * bare servers with their own routing. An Express route that matches later takes precedence.
 */
export function setRouteTemplate(req: IncomingMessage, template: string): void {
  (req as RoutedRequest)[TEMPLATE] = template;
}

/**
 * Returns the template of the route that Express 4 or 5 matched, with the paths of its mounts: `/t/:tenant/items/:id`.
 * When no route matched, returns the template from `setRouteTemplate`, or undefined. `<mount>` replaces an unknown part.
 * The result never contains the raw path, so it is safe as the label of a metric (MET-8, MET-10). Call it at the end of
 * the response; it is also right after an error.
 */
export function routeTemplateOf(req: IncomingMessage): string | undefined {
  const { route, app } = req as RoutedRequest;
  if (typeof route !== "object" || route === null) return (req as RoutedRequest)[TEMPLATE];
  const index = app && indexes.get(app);
  const known = index === undefined || isStale(index) ? undefined : index.routes.get(route);
  return typeof known === "string" ? known : resolve(req as RoutedRequest, route, known);
}

function isStale(index: RouteIndex): boolean {
  return index.layers.length !== index.layerCount || index.top.parent !== undefined;
}

function resolve(
  req: RoutedRequest,
  route: RouteShape,
  known: string | readonly PathTemplate[] | undefined,
): string {
  const places = known ?? (req.app === undefined ? guesses(route, []) : learn(req.app, route));
  if (typeof places === "string") return places;
  // The router matched the current URL; the original one helps when a handler has rewritten it since.
  const best =
    bestMatch(places, `${req.baseUrl ?? ""}${req.url ?? ""}`) ?? bestMatch(places, req.originalUrl ?? "");
  return best === undefined ? unplaced(route.path) : shown(best);
}

function learn(app: AppShape, route: RouteShape): string | readonly PathTemplate[] {
  const index = readRoutes(app);
  let places = index.routes.get(route);
  if (places === undefined) {
    const owner = owners.get(route);
    places = owner?.top === index.top ? owner.routes.get(route) : undefined;
    // Stored, so that later requests do not read the routers again.
    index.routes.set(route, (places ??= guesses(route, index.closed)));
  }
  return places;
}

function guesses(route: RouteShape, closed: readonly PathTemplate[]): readonly PathTemplate[] {
  const paths = alternatives(route.path);
  return [ROOT, ...closed].flatMap((prefix) => paths.map((path) => routed(prefix, path)));
}

function readRoutes(app: AppShape): RouteIndex {
  const reader = new RouteReader();
  const layers = layersOf(app);
  for (const prefix of placesOf(app, 0)) reader.read(layers, prefix);
  const index: RouteIndex = {
    top: topOf(app),
    layers,
    layerCount: layers.length,
    routes: new WeakMap(),
    closed: [...reader.closed.values()],
  };
  indexes.set(app, index);
  const above = indexesAbove(app);
  for (const [route, found] of reader.places) {
    const places = [...found.values()];
    const [only] = places;
    const known = places.length === 1 && only !== undefined ? shown(only) : places;
    owners.set(route, index);
    index.routes.set(route, known);
    for (const each of above) each.routes.set(route, known);
  }
  return index;
}

/** Returns the indexes of the parent applications, whose guesses about this application's routes are now outdated. */
function indexesAbove(app: AppShape): readonly RouteIndex[] {
  const above: RouteIndex[] = [];
  let up = app.parent;
  for (let depth = 0; up !== undefined && depth < MAX_PLACES; depth++, up = up.parent) {
    const index = indexes.get(up);
    if (index !== undefined) above.push(index);
  }
  return above;
}

function topOf(app: AppShape): AppShape {
  let top = app;
  for (let depth = 0; top.parent !== undefined && depth < MAX_PLACES; depth++) top = top.parent;
  return top;
}

/**
 * Returns the prefixes under which an application is mounted. Express records only its last mount; the other candidates
 * come from all application mounts of its parent, which do not say which application they lead to.
 */
function placesOf({ parent, mountpath }: AppShape, depth: number): readonly PathTemplate[] {
  if (parent === undefined || depth > MAX_PLACES) return [ROOT];
  const layers = layersOf(parent).filter((layer) => layer.name === "mounted_app");
  const paths = [
    ...alternatives(mountpath),
    ...layers.flatMap(mountPathsOf).filter((path) => path !== undefined),
  ];
  const places = new Map<string, PathTemplate>();
  for (const prefix of placesOf(parent, depth + 1)) {
    for (const path of paths) remember(places, mounted(prefix, path));
  }
  return [...places.values()];
}

function remember(places: Map<string, PathTemplate>, place: PathTemplate): void {
  if (places.size < MAX_PLACES && !places.has(place.text)) places.set(place.text, place);
}

/** Walks through routers and the routers nested in them. */
class RouteReader {
  readonly places: Map<RouteShape, Map<string, PathTemplate>> = new Map();
  readonly closed: Map<string, PathTemplate> = new Map();
  /** The routers from the top to the current one, because a router may contain itself. */
  readonly #path: Set<readonly LayerShape[]> = new Set();
  #left: number = MAX_LAYERS;

  read(layers: readonly LayerShape[], prefix: PathTemplate): void {
    if (this.#path.has(layers) || this.#path.size > MAX_PLACES) return;
    this.#path.add(layers);
    for (const layer of layers) {
      if (this.#left-- <= 0) break;
      if (layer.route === undefined) this.#readMount(layer, prefix);
      else this.#readRoute(layer.route, prefix);
    }
    this.#path.delete(layers);
  }

  #readRoute(route: RouteShape, prefix: PathTemplate): void {
    let places = this.places.get(route);
    if (places === undefined) this.places.set(route, (places = new Map()));
    for (const path of alternatives(route.path)) remember(places, routed(prefix, path));
  }

  #readMount(layer: LayerShape, prefix: PathTemplate): void {
    const behind = layersBehind(layer);
    for (const path of mountPathsOf(layer)) {
      const place = mounted(prefix, path);
      if (behind !== undefined) this.read(behind, place);
      else if (place !== prefix) remember(this.closed, place);
    }
  }
}
