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

// Bounds for applications that mount routers in each other many times over: what lies beyond is not found.
const MAX_LAYERS = 50_000;
const MAX_PLACES = 64;

/** All that is known about the routes of one application; read once, and again when something is missing. */
interface RouteIndex {
  /** The application at the top, which has no parent. */
  readonly top: AppShape;
  readonly layers: readonly LayerShape[];
  readonly layerCount: number;
  /** A route's template; all its possible ones when it has several or was not found. */
  readonly routes: WeakMap<RouteShape, string | readonly PathTemplate[]>;
  /** Where there is something whose inside cannot be seen: an application, a function around a router. */
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
/** The index in which a route was found: an error path leaves a sub-application before the response ends. */
const owners = new WeakMap<RouteShape, RouteIndex>();

/**
 * Says which template a request belongs to that no route of Express answers: for middleware that answers fixed
 * paths of its own, and for bare servers that route by themselves. A route that matches later outranks it.
 */
export function setRouteTemplate(req: IncomingMessage, template: string): void {
  (req as RoutedRequest)[TEMPLATE] = template;
}

/**
 * The template of the route that Express 4 or 5 matched, with the paths of its mounts:
 * `/t/:tenant/items/:id`. Where none has matched, what `setRouteTemplate` has said, else undefined. A part that cannot be
 * known is `<mount>`; the raw path is never in it, so there are no more templates than the application's
 * author wrote: good for the label of a metric (MET-8, MET-10). Ask at the end of the response; error paths
 * are right as well.
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
  // What the router matched is the current URL; the original one helps when a handler has rewritten that
  // since.
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
    // Remembered, so that the routers are not read again for every request.
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

/** What the applications above have guessed about the routes of this one is now known. */
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
 * The prefixes under which an application is mounted. It knows its last mount only; that it has others can be
 * guessed from its parent's layers, which do not say which application they lead to.
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

/** Goes through routers and the routers in them. */
class RouteReader {
  readonly places: Map<RouteShape, Map<string, PathTemplate>> = new Map();
  readonly closed: Map<string, PathTemplate> = new Map();
  /** The routers on the way down to the current one: a router may contain itself. */
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
