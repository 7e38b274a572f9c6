import type { IncomingMessage } from "node:http";
import { statedRouteTemplate } from "@svc/context";
import {
  alternatives,
  bestMatch,
  type PathTemplate,
  ROOT,
  routed,
  shown,
  unplaced,
} from "./path-template.ts";
import { type AppShape, layersOf, type LayerShape, type RouteShape } from "./router-shapes.ts";
import { keepPlace, MAX_PLACES, placesOf, walkRouter } from "./walk-router.ts";

/** The routes of one application; read again when a route is missing, or a layer or a parent application was added. */
interface RouteIndex {
  /** The application at the top, which has no parent. */
  readonly top: AppShape;
  readonly layers: readonly LayerShape[];
  readonly layerCount: number;
  /** A route's template, or all its possible templates if it has several or was not found. */
  readonly routes: WeakMap<RouteShape, string | readonly PathTemplate[]>;
  /** The mount paths of handlers whose routes cannot be read, such as applications and functions that wrap a router. */
  readonly closed: readonly PathTemplate[];
}

interface RoutedRequest extends IncomingMessage {
  readonly app?: AppShape;
  readonly route?: RouteShape;
  readonly baseUrl?: string;
  readonly originalUrl?: string;
}

/** The templates of each route by their text. */
type Places = WeakMap<RouteShape, Map<string, PathTemplate>>;

const indexes = new WeakMap<AppShape, RouteIndex>();
/**
 * The templates found in each application at the top and in its sub-applications. After an error in a sub-application,
 * `req.app` is the parent application, whose own routers do not contain the route.
 */
const placesBelow = new WeakMap<AppShape, Places>();

/**
 * Returns the template of the route that Express 4 or 5 matched, with the paths of its mounts: `/t/:tenant/items/:id`. If no
 * route has matched, returns the template from `setRouteTemplate`, or undefined. `<mount>` stands for a prefix that cannot
 * be determined. The raw path is never in a template, so the application's code bounds the number of templates, as a metric
 * label requires (MET-8, MET-10). Call it at the end of the response, even on error paths.
 */
export function routeTemplateOf(req: IncomingMessage): string | undefined {
  const { route, app } = req as RoutedRequest;
  if (typeof route !== "object" || route === null) return statedRouteTemplate(req);
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
  // Try the current URL first, because the router matched it. Try the original URL in case a handler has rewritten the
  // current one since then.
  const best =
    bestMatch(places, `${req.baseUrl ?? ""}${req.url ?? ""}`) ?? bestMatch(places, req.originalUrl ?? "");
  return best === undefined ? unplaced(route.path) : shown(best);
}

function learn(app: AppShape, route: RouteShape): string | readonly PathTemplate[] {
  const index = readRoutes(app);
  let places = index.routes.get(route);
  if (places === undefined) {
    const found = placesBelow.get(index.top)?.get(route);
    // Store the guesses in the index, so that the routers are not read again for every request.
    index.routes.set(
      route,
      (places = found === undefined ? guesses(route, index.closed) : templatesIn(found)),
    );
  }
  return places;
}

function guesses(route: RouteShape, closed: readonly PathTemplate[]): readonly PathTemplate[] {
  const paths = alternatives(route.path);
  return [ROOT, ...closed].flatMap((prefix) => paths.map((path) => routed(prefix, path)));
}

function readRoutes(app: AppShape): RouteIndex {
  const top = topOf(app);
  let below = placesBelow.get(top);
  if (below === undefined) placesBelow.set(top, (below = new WeakMap()));
  const found = new Map<RouteShape, Map<string, PathTemplate>>();
  const closed = new Map<string, PathTemplate>();
  const layers = layersOf(app);
  for (const prefix of placesOf(app)) {
    walkRouter(layers, prefix, {
      route(route, template) {
        let places = found.get(route) ?? below.get(route);
        if (places === undefined) below.set(route, (places = new Map()));
        found.set(route, places);
        keepPlace(places, template);
      },
      closed(_handle, place) {
        if (place !== prefix) keepPlace(closed, place);
      },
    });
  }
  const index: RouteIndex = {
    top,
    layers,
    layerCount: layers.length,
    routes: new WeakMap(),
    closed: [...closed.values()],
  };
  indexes.set(app, index);
  const affected = [index, ...indexesAbove(app)];
  for (const [route, places] of found) {
    const templates = templatesIn(places);
    for (const each of affected) each.routes.set(route, templates);
  }
  return index;
}

function templatesIn(places: ReadonlyMap<string, PathTemplate>): string | readonly PathTemplate[] {
  const [only, ...others] = places.values();
  return only !== undefined && others.length === 0 ? shown(only) : [...places.values()];
}

/** Returns the indexes of the parent applications, which may contain guesses about the routes of `app`. */
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
